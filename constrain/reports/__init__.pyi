"""Names of the package for type checkers; __init__.py reads them, and loads each when it is first used."""

from constrain.reports.confidence import PartConfidence as PartConfidence
from constrain.reports.confidence import confidence_of as confidence_of
from constrain.reports.confidence import value_span as value_span
from constrain.reports.display.html import shares_html as shares_html
from constrain.reports.display.html import tokens_html as tokens_html
from constrain.reports.display.live import Frame as Frame
from constrain.reports.display.live import OutputFollower as OutputFollower
from constrain.reports.display.live import screen_of as screen_of
from constrain.reports.display.plot import Plot as Plot
from constrain.reports.display.terminal import print_tokens as print_tokens
from constrain.reports.display.tokens import ShownToken as ShownToken
from constrain.reports.display.tokens import shown_tokens as shown_tokens
from constrain.reports.posterior import plot_shares as plot_shares
from constrain.reports.proof import SCHEMA as SCHEMA
from constrain.reports.proof import proof_of as proof_of
from constrain.reports.vote import Vote as Vote
from constrain.reports.vote import count_votes as count_votes
