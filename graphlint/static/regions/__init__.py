"""Where capture regions are: searched for in the code, declared by the user, surveyed for `graphlint init`.

Runs the interpreter on what may open a region. Imports everything but `findings`.
"""
