"""Names of the package for type checkers; __init__.py reads them, and loads each when it is first used."""

from constrain.engines.processor import ConstraintProcessor as ConstraintProcessor
from constrain.models.hf.model import HFModel as HFModel
from constrain.papers import DraftHeads as DraftHeads
from constrain.papers import EarlyExit as EarlyExit
from constrain.papers import ExitLens as ExitLens
from constrain.papers import SelfDraft as SelfDraft
from constrain.papers import load_heads as load_heads
from constrain.papers import search_layers as search_layers
from constrain.papers import skip_layers as skip_layers
