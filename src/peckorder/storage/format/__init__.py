"""The bytes of model files: arrays, a strict JSON header, and what may be in them."""

from peckorder.storage.format.container import VERSION as VERSION
from peckorder.storage.format.container import Contents as Contents
from peckorder.storage.format.container import decoded as decoded
from peckorder.storage.format.container import from_bytes as from_bytes
from peckorder.storage.format.container import read_file as read_file
from peckorder.storage.format.container import to_bytes as to_bytes
from peckorder.storage.format.container import write_file as write_file
from peckorder.storage.format.node import Node as Node
from peckorder.storage.format.values import Damaged as Damaged
from peckorder.storage.format.values import Unstorable as Unstorable
from peckorder.storage.format.values import pack as pack
from peckorder.storage.format.values import read_value as read_value
