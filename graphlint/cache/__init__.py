"""Answers of `check` that are read back as long as nothing has changed of what they depend on.

`entry` is an answer as it lies on the disk, with the record of what its run has read; `holds` compares that record with
what is there now; `moving` follows lines that are elsewhere now; `outcome` is what is answered; `folder` is where
entries lie; `answers` puts them together. An entry is text that is parsed and compared: nothing in it is run, one that
is broken is no entry, and none is needed.

A file is what it was if its stamp is: the times of its last change, its size, its inode. The time of change cannot be
set by anybody, so it tells of files that are copied with their times. Where it is too young to tell (see `MARGIN`), or
another one, the digest of the text decides; and a file that was only searched may have another text, if that answers
the same questions alike. Imports `reading` and `finding`, and nothing that takes time to load.
"""
