"""``python -m probescope``."""

import sys

from probescope.cli.main import main

sys.exit(main())
