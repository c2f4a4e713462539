"""What is recorded of a program: its lines, its operators, the nodes of its graphs, and its captures."""
