"""The abstract domain: values, how they join, what running a function leaves behind, what is asked of an evaluator.

Plain data without behaviour of its own: nothing here runs code. Imports `syntax` and `index`.
"""
