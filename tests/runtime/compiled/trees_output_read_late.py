"""What torch refuses to read, as a later run has taken its memory; of a warm-up, and of a recording."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x * x


def read(tensor):
    try:
        print(tensor + 1)
    except RuntimeError as error:
        assert "overwritten" in str(error)
    else:
        raise AssertionError("torch gives what is there now")


with torch.no_grad():
    first = step(torch.randn(4, device="cuda"))  # expect: GL510
    second = step(torch.randn(4, device="cuda"))  # expect: GL510
    read(first)
    step(torch.randn(4, device="cuda"))
    read(second)
