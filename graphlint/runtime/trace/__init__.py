"""What is recorded of a program: its lines, its operators, the nodes of its graphs, and its captures.

Plain data and how to read it off a frame, a tensor or an operator; nothing here watches, waits or judges. It imports
nothing else of this half, so that a device, a watch and a judge can speak of the same things.
"""
