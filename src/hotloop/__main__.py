"""python -m hotloop: the command line."""

import sys

from hotloop.cli import main

sys.exit(main())
