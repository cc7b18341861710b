"""Names of the package for type checkers; __init__.py reads them, and loads each when it is first used."""

from constrain.papers import Mirostat as Mirostat
from constrain.papers import Momentum as Momentum
from constrain.papers import Typical as Typical
from constrain.sampling.processors.core.context import StepContext as StepContext
from constrain.sampling.processors.core.foreign import Foreign as Foreign
from constrain.sampling.processors.core.foreign import processors_of as processors_of
from constrain.sampling.processors.core.model import ProcessedModel as ProcessedModel
from constrain.sampling.processors.core.processor import Processor as Processor
from constrain.sampling.processors.core.run import processed as processed
from constrain.sampling.processors.core.run import run_processed as run_processed
from constrain.sampling.processors.core.terminals import terminal_kinds as terminal_kinds
from constrain.sampling.processors.penalties.counts import Counts as Counts
from constrain.sampling.processors.penalties.grammar import GrammarRepetition as GrammarRepetition
from constrain.sampling.processors.penalties.repetition import Repetition as Repetition
from constrain.sampling.processors.truncation.min_p import MinP as MinP
