"""Names of the package for type checkers; __init__.py reads them, and loads each when it is first used."""

from constrain.gaps.first_hole import FirstHole as FirstHole
from constrain.gaps.holes import Infilled as Infilled
from constrain.gaps.holes import infill as infill
from constrain.gaps.projection import first_gap as first_gap
