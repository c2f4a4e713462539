"""What is defined where: modules by dotted name, what they bind, where names are imported from.

Bodies of functions are not parsed before somebody asks for their compact form, and modules note what is looked at of
them. `memory` is for a process that checks again and again: modules, and what the parts of a run found, while that
holds. Imports `syntax`.
"""
