"""The language server: what `check` says of a project, in editors, as its files are typed.

`worker` is a process of its own, in which `looking` looks at the project and remembers that; `language` speaks the
protocol with the editor (pygls does, from the extra `server`); `shown` says findings in the protocol's terms;
`comments` finds the comment that suppresses one. Texts that are not saved yet stand for the files on the disk.
"""
