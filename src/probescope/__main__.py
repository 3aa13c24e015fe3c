"""``python -m probescope``."""

import sys

try:
    from probescope.cli.main import main
except KeyboardInterrupt:  # while it starts: nothing is there yet that would have to be put back
    sys.exit(130)

sys.exit(main())
