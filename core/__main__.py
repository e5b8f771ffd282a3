"""`python -m topple` is the command `topple`."""

import sys

from .cli import main

sys.exit(main())
