import sys
from pathlib import Path

# the helpers of these tests, which importlib mode does not put on the path
sys.path.insert(0, str(Path(__file__).parent))
