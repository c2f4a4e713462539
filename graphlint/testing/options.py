"""The words of the plugin: its marker, its options, and what some of them can be."""

MARKER = "graph_safe"
WITNESSES = ("auto", "cuda", "emulator", "require-cuda")
SEVERITIES = ("note", "warning", "error")
CASES = {"shapes": "shape", "dtypes": "dtype"}  # what the marker is given, and what the test gets of it
SETTINGS = {
    "on": "who answers: auto, cuda (skips without a GPU), emulator, require-cuda (fails without a GPU)",
    "deadline": "the seconds that each assertion has, or on the emulator each test; 0 for no end",
    "warm-ups": "how often a target runs before it is captured",
    "replays": "how many replays are compared with eager",
    "select": "codes or prefixes to report, separated by commas",
    "ignore": "codes or prefixes to leave out, separated by commas",
    "rules": "directories with rules of your own, separated by commas",
    "fail-on": "the lowest severity that fails an assertion: note, warning, error",
}
OPTIONS_ONLY = {"rules"}  # an ini file is a configuration: it runs no code, and [tool.graphlint] names directories
CHOICES = {"on": WITNESSES, "fail-on": SEVERITIES}
