"""`python -m perdure`: the command, where its script is not on the path."""

from perdure.cli.main import main

if __name__ == "__main__":
    main()
