"""libcst trees in, compact forms out: it reads syntax of other releases than the Python that runs."""
