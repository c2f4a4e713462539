"""This machine in, its GPU and the software that uses it out; nothing is loaded until it is asked."""

from __future__ import annotations

import platform
import subprocess


def gpu_count() -> int:
    """How many GPUs torch can use here."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()


def present_device() -> dict[str, str]:
    """What a measurement depends on; the driver is left empty where nobody tells it."""
    import torch

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = ""
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "driver": driver,
        "python": platform.python_version(),
    }
