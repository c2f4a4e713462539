"""What is defined where: modules by dotted name, what they bind, where names are imported from.

Bodies of functions are not parsed before somebody asks for their compact form. Imports `syntax`.
"""
