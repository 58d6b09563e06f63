"""The things a picture can hold: plain shapes, everyday objects (emoji), signs, and their English.

Owns the vocabularies (names, plurals, categories, colours, sign words) and nothing about where a
thing stands or how it is drawn. Every name is unique, so that a name in an answer means one thing:
that is why there is no orange (a colour), no ring on a finger and no hot dog in this world.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

COLORS: dict[str, tuple[int, int, int]] = {
    "red": (222, 38, 38),
    "orange": (250, 135, 20),
    "yellow": (248, 214, 40),
    "green": (45, 165, 70),
    "blue": (40, 92, 220),
    "purple": (132, 55, 180),
    "pink": (250, 130, 185),
    "brown": (128, 78, 38),
    "black": (24, 24, 24),
    "white": (248, 248, 248),
    "gray": (136, 136, 136),
    # The rest of CSS's sixteen.
    "aqua": (0, 255, 255),
    "fuchsia": (255, 0, 255),
    "lime": (0, 255, 0),
    "maroon": (128, 0, 0),
    "navy": (0, 0, 128),
    "olive": (128, 128, 0),
    "silver": (192, 192, 192),
    "teal": (0, 128, 128),
}
BASIC = tuple(COLORS)[:11]  # the colours that things have in everyday speech
CSS: dict[str, tuple[int, int, int]] = {  # as CSS 2.1 defines them
    **{name: COLORS[name] for name in tuple(COLORS)[11:]},
    "black": (0, 0, 0), "white": (255, 255, 255), "gray": (128, 128, 128), "red": (255, 0, 0),
    "blue": (0, 0, 255), "green": (0, 128, 0), "yellow": (255, 255, 0), "purple": (128, 0, 128),
}
# A right answer may add the plainer word: "navy blue", "lime green".
PLAINER = {"navy": "blue", "lime": "green", "olive": "green", "maroon": "red", "silver": "gray",
           "aqua": "blue", "fuchsia": "pink", "teal": "green"}
COLOR_SYNONYMS = {"grey": "gray", "cyan": "aqua", "magenta": "fuchsia"}
SHAPES = ("circle", "square", "triangle", "star", "heart", "diamond", "pentagon", "hexagon",
          "cross", "ring", "arrow")

# One object a field: emoji, name, and after "/" the plural where adding "s" is wrong, and after
# ":" the colour it plainly has (only where a person would answer with that one word).
_EMOJI = {
    "animal": """🐕 dog|🐈 cat|🐎 horse:brown|🐄 cow|🐖 pig:pink|🐑 sheep/sheep|🐐 goat
        |🐘 elephant|🦒 giraffe|🦓 zebra|🐪 camel|🦁 lion|🐅 tiger|🐻 bear:brown|🐼 panda
        |🐨 koala:gray|🐵 monkey:brown|🐇 rabbit|🦊 fox/foxes:orange|🐺 wolf/wolves:gray
        |🐭 mouse/mice:gray|🦔 hedgehog|🐿 squirrel|🦇 bat|🐓 rooster|🐤 chick:yellow|🦆 duck
        |🦅 eagle|🦉 owl:brown|🐧 penguin|🦜 parrot|🦚 peacock|🦩 flamingo:pink|🦢 swan:white
        |🦃 turkey|🐸 frog:green|🐢 turtle:green|🦎 lizard:green|🐍 snake:green
        |🐊 crocodile:green|🐳 whale:blue|🐬 dolphin:blue|🦈 shark|🐟 fish/fish:blue
        |🐙 octopus/octopuses|🦀 crab:red|🦞 lobster:red|🐌 snail
        |🦋 butterfly/butterflies:blue|🐝 bee|🐜 ant|🐞 ladybug:red|🕷 spider:black
        |🐛 caterpillar:green|🦂 scorpion|🦘 kangaroo|🦏 rhino:gray|🦛 hippo|🦙 llama|🦥 sloth
        |🦦 otter|🦌 deer/deer|🦄 unicorn|🐉 dragon:green|🦖 dinosaur:green""",
    "fruit": """🍎 apple:red|🍌 banana:yellow|🍇 bunch of grapes/bunches of grapes:purple
        |🍉 watermelon|🍓 strawberry/strawberries:red|🍋 lemon:yellow|🍍 pineapple
        |🍐 pear:green|🍑 peach/peaches|🥝 kiwi|🥥 coconut|🥭 mango""",
    "vegetable": """🥕 carrot:orange|🌽 corn cob|🍆 eggplant:purple|🥑 avocado:green
        |🥔 potato/potatoes|🍅 tomato/tomatoes:red|🥒 cucumber:green|🌶 pepper:red|🍄 mushroom
        |🧅 onion|🎃 pumpkin:orange""",
    "food": """🍕 pizza|🍔 hamburger|🥪 sandwich/sandwiches|🌮 taco|🥚 egg
        |🍞 loaf of bread/loaves of bread|🥐 croissant|🥨 pretzel:brown
        |🧀 piece of cheese/pieces of cheese:yellow|🍩 donut|🍪 cookie:brown|🎂 cake
        |🧁 cupcake|🍭 lollipop|🍬 candy/candies|🍦 ice cream cone|🥧 pie
        |🍿 bag of popcorn/bags of popcorn|☕ cup of coffee/cups of coffee
        |🍷 glass of wine/glasses of wine|🍺 beer mug|🥛 glass of milk/glasses of milk:white
        |🍼 baby bottle|🍫 chocolate bar|🍯 honey pot|🍟 box of fries/boxes of fries""",
    "vehicle": """🚗 car:red|🚕 taxi:yellow|🚌 bus/buses|🚚 truck|🚜 tractor
        |🚒 fire engine:red|🚑 ambulance|🚲 bicycle|🏍 motorcycle|🛴 scooter|🚂 train
        |✈ airplane|🚁 helicopter|🚀 rocket|⛵ sailboat|🚢 ship|⚓ anchor|🛸 flying saucer
        |🛶 canoe|🚤 speedboat""",
    "household": """🪑 chair:brown|🛏 bed|🚪 door:brown|🛋 couch/couches:blue|🚽 toilet:white
        |🛁 bathtub|🚿 shower|💡 light bulb:yellow|🕯 candle|🔑 key:yellow|🔒 lock
        |📺 television|📻 radio|☎ telephone:red|📱 mobile phone|💻 laptop|🖨 printer|📷 camera
        |⌚ watch/watches|⏰ alarm clock|🔔 bell:yellow|📕 book:red|✏ pencil|🖊 pen:blue
        |✂ pair of scissors/pairs of scissors|📎 paper clip:gray|📌 pin:red|✉ envelope
        |📦 box/boxes:brown|🎁 gift|🎈 balloon:red
        |🕶 pair of sunglasses/pairs of sunglasses:black|☂ umbrella:purple|🧺 basket
        |🪣 bucket:blue|🧹 broom|🧻 roll of paper/rolls of paper:white
        |🪥 toothbrush/toothbrushes|🧸 teddy bear:brown|🥄 spoon|🔪 knife/knives|🏺 vase
        |🪞 mirror|🗑 trash can|🔍 magnifying glass/magnifying glasses|🔭 telescope
        |🔬 microscope|💎 gem:blue|👑 crown:yellow|🏆 trophy/trophies:yellow|🏅 medal
        |💰 money bag|🪙 coin:yellow|🎨 palette|🧶 ball of yarn/balls of yarn
        |🔋 battery/batteries|⌛ hourglass/hourglasses|📅 calendar|🚩 flag:red
        |🚦 traffic light""",
    "tool": """🔨 hammer|🪚 saw|🔧 wrench/wrenches|🪛 screwdriver|🪓 axe|⚙ gear:gray|🪜 ladder
        |🧰 toolbox/toolboxes:red|🔦 flashlight|🏹 bow and arrow/bows and arrows|🛡 shield
        |🧭 compass/compasses|🌡 thermometer|💉 syringe|💊 pill|🪝 hook|🧲 magnet:red
        |🧱 brick wall""",
    "clothing": """👕 shirt:blue|👖 pair of jeans/pairs of jeans:blue|👗 dress/dresses:blue
        |🧥 coat|🧦 pair of socks/pairs of socks|🧤 pair of gloves/pairs of gloves
        |🧣 scarf/scarves:red|👟 shoe:blue|👢 boot:brown|🎩 hat:black|🧢 cap:blue|👜 handbag
        |🎒 backpack:red|👠 high heel:red""",
    "sport": """⚽ soccer ball|🏀 basketball:orange|🏈 football:brown|🎾 tennis racket
        |🏐 volleyball|⚾ baseball:white|🥊 boxing glove:red|🎯 target|🎲 die/dice
        |🧩 puzzle piece|♟ chess pawn:black|🪁 kite|🪀 yo-yo:red|🛹 skateboard|🎳 bowling ball
        |🏓 paddle:red|🎣 fishing rod""",
    "instrument": """🎸 guitar|🎻 violin|🎹 piano|🥁 drum|🎺 trumpet:yellow
        |🎷 saxophone:yellow|🪗 accordion|🪕 banjo|🎤 microphone
        |🎧 pair of headphones/pairs of headphones""",
    "nature": """🌳 tree:green|🌲 pine tree:green|🌴 palm tree|🌵 cactus/cactuses:green
        |🌻 sunflower|🌹 rose:red|🌷 tulip|🍁 leaf/leaves|🍀 clover:green|🌞 sun
        |🌙 moon:yellow|☁ cloud|🌈 rainbow|⛄ snowman/snowmen:white|❄ snowflake:blue
        |⚡ lightning bolt:yellow|🔥 fire|💧 drop of water/drops of water:blue
        |🌋 volcano/volcanoes|🌍 globe|🐚 seashell|🪨 rock:gray|🌸 flower:pink|🪶 feather
        |🦴 bone:white|🦷 tooth/teeth:white""",
    "building": """🏠 house|🏰 castle|⛺ tent|🗼 tower|⛪ church/churches|🏭 factory/factories
        |🎡 Ferris wheel|⛲ fountain""",
    "figure": """😀 smiley face:yellow|👻 ghost:white|👽 alien|🤖 robot|💀 skull|👁 eye|👂 ear
        |👃 nose|👄 mouth|✋ hand:yellow|🦶 foot/feet:yellow|🤡 clown|🧠 brain:pink
        |👶 baby/babies""",
}
# What else a right answer may call a thing (never used in a question or a caption).
SYNONYMS = {
    "television": ("tv",), "airplane": ("plane", "aeroplane"), "bicycle": ("bike",),
    "motorcycle": ("motorbike",), "couch": ("sofa",), "hamburger": ("burger",),
    "mobile phone": ("cell phone", "smartphone"), "telephone": ("phone",), "gift": ("present",),
    "die": ("dice",), "alarm clock": ("clock",), "cup of coffee": ("coffee", "cup"),
    "glass of wine": ("wine", "wine glass"), "glass of milk": ("milk",),
    "loaf of bread": ("bread",),
    "piece of cheese": ("cheese",), "bunch of grapes": ("grapes",), "corn cob": ("corn",),
    "pair of scissors": ("scissors",), "pair of sunglasses": ("sunglasses",),
    "pair of jeans": ("jeans",), "pair of socks": ("socks",), "pair of gloves": ("gloves",),
    "pair of headphones": ("headphones",), "bag of popcorn": ("popcorn",),
    "drop of water": ("water drop", "drop"), "box of fries": ("fries",), "honey pot": ("honey",),
    "roll of paper": ("toilet paper",), "ball of yarn": ("yarn",), "globe": ("earth",),
    "dinosaur": ("t-rex",), "lightning bolt": ("lightning",), "trash can": ("bin",),
    "flying saucer": ("ufo",), "fire engine": ("fire truck",),
    "light bulb": ("bulb",),
    "brick wall": ("bricks", "wall"), "bow and arrow": ("bow",),
}
WORDS = tuple("""stop go open closed hello bye yes no exit push pull sale free new old hot cold fast
    slow up down left right top bus taxi cafe bar shop bank zoo park home house school farm road
    street town city river lake sea beach bread milk tea coffee juice water soup pizza cake fish
    meat rice salt sugar apple lemon dog cat bird cow pig horse duck lion bear frog sun moon star
    rain snow wind fire tree leaf rose red blue green black white pink love peace joy hope dream
    happy sad good bad big small long short high low day night today now here there one two three
    four five six seven eight nine ten book music game toy ball team win play read write sing dance
    jump run walk talk look eat drink sleep help please thanks sorry quiet wait danger first last
    north south east west king queen magic gold paper pencil hotel train plane ship car""".split())


@dataclass(frozen=True)
class Kind:
    """One nameable thing; `color` is empty where one word would not do (or for shapes: chosen)."""

    name: str
    plural: str
    category: str
    emoji: str = ""
    color: str = ""


def _parse(category: str, table: str) -> list[Kind]:
    kinds = []
    for field in table.replace("\n", " ").split("|"):
        emoji, rest = field.strip().split(" ", 1)
        rest, _, color = rest.strip().partition(":")
        name, _, plural = rest.partition("/")
        kinds.append(Kind(name, plural or name + "s", category, emoji, color))
    return kinds


SHAPE_KINDS = [Kind(n, "crosses" if n == "cross" else n + "s", "shape") for n in SHAPES]
EMOJI_KINDS = [kind for category, table in _EMOJI.items() for kind in _parse(category, table)]
KINDS: dict[str, Kind] = {kind.name: kind for kind in SHAPE_KINDS + EMOJI_KINDS}
CATEGORIES = ("shape", *_EMOJI)


def plural(name: str) -> str:
    return "signs" if name == "sign" else KINDS[name].plural


def stable_hash(*parts: str) -> int:
    """The same on every machine and run, unlike hash()."""
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[:4], "big")


def held_out(shape: str, color: str) -> bool:
    """Shape×colour pairs that training never sees (about one in ten)."""
    return stable_hash("combo", shape, color) % 10 == 0


def held_out_background(name: str, background: str) -> bool:
    """Thing×background-colour pairs that training never sees (about one in thirty)."""
    return stable_hash("background", name, background) % 30 == 0
