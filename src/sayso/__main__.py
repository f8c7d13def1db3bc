"""`python -m sayso` is the command `sayso`."""

from sayso.cli.main import main

if __name__ == "__main__":
    main()
