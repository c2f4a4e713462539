"""What options and configuration may be, for the command to tell before it loads what reads them."""

from __future__ import annotations

ALLOCATIONS = ("default", "strict")
CONFIDENCES = ("low", "medium", "high")
FORMATS = ("text", "concise", "json", "sarif", "junit", "gitlab", "github")
