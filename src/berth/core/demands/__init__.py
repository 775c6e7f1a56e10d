"""What an image demands of cards: read from its environment, asked of a card, and told in words."""

from berth.core.demands.ask import doubt as doubt
from berth.core.demands.ask import unmet as unmet
from berth.core.demands.read import demands_of as demands_of
