"""What is defined where: modules by dotted name, what they bind, where names are imported from.

Bodies of functions are not parsed before somebody asks for their compact form, and modules note what is looked at of
them. Imports `syntax`.
"""
