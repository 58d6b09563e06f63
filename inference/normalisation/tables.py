"""What the rules look up: letters, months, units, currencies, abbreviations, marks. Data only."""

LETTER_NAMES = {
    "a": "ay", "b": "bee", "c": "see", "d": "dee", "e": "ee", "f": "eff", "g": "gee",
    "h": "aitch", "i": "eye", "j": "jay", "k": "kay", "l": "ell", "m": "em", "n": "en",
    "o": "oh", "p": "pee", "q": "cue", "r": "are", "s": "ess", "t": "tee", "u": "you",
    "v": "vee", "w": "double you", "x": "ex", "y": "why", "z": "zee",
}  # as ordinary words

MONTHS = ("january february march april may june july august september october november "
          "december").split()
SHORT_MONTHS = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"  # before a full stop
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

CURRENCIES = {
    "$": ("dollar", "cent"), "£": ("pound", "penny"), "€": ("euro", "cent"),
    "¥": ("yen", "sen"), "₹": ("rupee", "paisa"), "₩": ("won", "jeon"), "₽": ("ruble", "kopeck"),
    "R$": ("real", "centavo"), "US$": ("dollar", "cent"), "C$": ("Canadian dollar", "cent"),
    "CA$": ("Canadian dollar", "cent"), "A$": ("Australian dollar", "cent"),
    "AU$": ("Australian dollar", "cent"), "NZ$": ("New Zealand dollar", "cent"),
    "HK$": ("Hong Kong dollar", "cent"), "S$": ("Singapore dollar", "cent"),
    "₿": ("bitcoin", "satoshi"), "₺": ("lira", "kurus"), "₴": ("hryvnia", "kopiyka"),
}
CURRENCY_CODES = {
    "USD": "dollar", "EUR": "euro", "GBP": "pound", "JPY": "yen", "INR": "rupee", "CHF": "franc",
    "CAD": "Canadian dollar", "AUD": "Australian dollar", "CNY": "yuan", "KRW": "won",
}
MAGNITUDES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "b": "billion", "B": "billion", "bn": "billion", "t": "trillion", "T": "trillion",
    "tn": "trillion",
}

UNITS = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "m": "meter", "nm": "nanometer",
    "μm": "micrometer", "kg": "kilogram", "kgs": "kilogram", "kms": "kilometer",
    "KG": "kilogram", "KM": "kilometer", "Kg": "kilogram", "Km": "kilometer", "MPH": "mile per hour",
    "kmh": "kilometer per hour", "kmph": "kilometer per hour", "LB": "pound", "LBS": "pound", "Lbs": "pound",
    "OZ": "ounce", "FT": "foot", "CM": "centimeter", "ML": "milliliter", "Hrs": "hour", "Min": "minute",
    "g": "gram", "mg": "milligram", "μg": "microgram",
    "ft": "foot", "in": "inch", "yd": "yard", "lb": "pound", "lbs": "pound", "oz": "ounce",
    "mi": "mile", "mph": "mile per hour", "mpg": "mile per gallon", "rpm": "revolution per minute",
    "ppm": "part per million", "bpm": "beat per minute", "bps": "basis point", "pts": "point",
    "MP": "megapixel", "kph": "kilometer per hour", "fps": "frame per second", "h": "hour", "hr": "hour",
    "hrs": "hour", "gal": "gallon", "min": "minute", "mins": "minute", "sec": "second", "secs": "second",
    "s": "second", "ms": "millisecond", "μs": "microsecond", "ns": "nanosecond", "l": "liter",
    "L": "liter", "ml": "milliliter", "mL": "milliliter", "dl": "deciliter", "dL": "deciliter",
    "μL": "microliter", "μl": "microliter", "mcg": "microgram", "qts": "quart", "c.": "cup",
    "mol": "mole", "mmol": "millimole", "μmol": "micromole", "cl": "centiliter",
    "hz": "hertz", "khz": "kilohertz", "mhz": "megahertz", "ghz": "gigahertz", "Hz": "hertz",
    "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "THz": "terahertz",
    "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte", "tb": "terabyte",
    "kB": "kilobyte", "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte",
    "PB": "petabyte", "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte",
    "Kbps": "kilobit per second", "kbps": "kilobit per second", "mbps": "megabit per second",
    "Mbps": "megabit per second",
    "Gbps": "gigabit per second", "w": "watt", "W": "watt", "kw": "kilowatt", "kW": "kilowatt",
    "mW": "milliwatt", "MW": "megawatt", "GW": "gigawatt", "kWh": "kilowatt hour",
    "Wh": "watt hour", "MWh": "megawatt hour", "GWh": "gigawatt hour", "TWh": "terawatt hour",
    "eV": "electron volt", "keV": "kilo electron volt", "MeV": "mega electron volt",
    "GeV": "giga electron volt", "TeV": "tera electron volt",
    "v": "volt", "V": "volt", "mV": "millivolt", "kV": "kilovolt", "mA": "milliamp", "μA": "microamp",
    "mAh": "milliamp hour", "μF": "microfarad", "Ω": "ohm", "kΩ": "kilohm", "MΩ": "megohm", "J": "joule",
    "kJ": "kilojoule", "cal": "calorie", "kcal": "kilocalorie", "Pa": "pascal",
    "mmHg": "millimeter of mercury", "kN": "kilonewton", "MPa": "megapascal", "GPa": "gigapascal",
    "hPa": "hectopascal", "kPa": "kilopascal", "atm": "atmosphere", "hp": "horsepower", "yds": "yard",
    "psi": "pound per square inch", "dB": "decibel", "px": "pixel", "dpi": "dot per inch",
    "ha": "hectare", "yr": "year", "yrs": "year", "mo": "month", "mos": "month", "wk": "week", "wks": "week",
    "tsp": "teaspoon", "tbsp": "tablespoon", "sq ft": "square foot", "sq mi": "square mile",
    "sqft": "square foot", "sq m": "square meter", "fl oz": "fluid ounce", "qt": "quart", "pt": "pint",
    "sq. ft": "square foot", "sq. mi": "square mile", "kbit": "kilobit", "Mbit": "megabit",
    "Gbit": "gigabit", "Mb/s": "megabit per second", "Gb/s": "gigabit per second",
    "Mb": "megabit", "Gb": "gigabit", "Nm": "newton meter", "N·m": "newton meter", "kn": "knot",
    "°": "degree", "°C": "degree celsius",
    "°F": "degree fahrenheit", "° C": "degree celsius", "° F": "degree fahrenheit",
}  # only after a number
ALONE = "GHz MHz kHz Hz kWh mAh Mbps Gbps kbps km kg cm mm mph km/h m/s".split()  # also without one
BOOKS = (
    "Genesis Exodus Leviticus Numbers Deuteronomy Joshua Judges Samuel Kings Chronicles Job Psalm Psalms "
    "Proverbs Ecclesiastes Isaiah Jeremiah Ezekiel Daniel Hosea Matthew Mark Luke John Acts Romans "
    "Corinthians Galatians Ephesians Philippians Timothy Hebrews James Peter Revelation Surah"
).split()  # before chapter and verse
PERIODS = "second minute hour day night week month year person unit page item mile".split()

TITLES = {
    "mr": "mister", "mrs": "missus", "ms": "miz", "dr": "doctor", "prof": "professor",
    "st": "saint", "mt": "mount", "gen": "general", "sgt": "sergeant", "capt": "captain",
    "lt": "lieutenant", "col": "colonel", "sen": "senator", "rep": "representative",
    "gov": "governor", "rev": "reverend", "hon": "honorable", "pres": "president", "ft": "fort",
    "pt": "point", "cpl": "corporal", "maj": "major", "adm": "admiral", "pvt": "private",
    "cmdr": "commander", "supt": "superintendent", "msgr": "monsignor", "amb": "ambassador",
    "assoc": "associate", "asst": "assistant", "fr": "father", "br": "brother", "pte": "private",
}  # before a name, with a full stop or without
ABBREVIATIONS = {
    "mr": "mister", "mrs": "missus", "ms": "miz", "dr": "doctor", "prof": "professor",
    "st": "saint", "mt": "mount", "etc": "et cetera", "jr": "junior", "sr": "senior",
    "dept": "department", "approx": "approximately", "capt": "captain", "gen": "general",
    "sgt": "sergeant", "inc": "incorporated", "ltd": "limited", "corp": "corporation",
    "assn": "association", "univ": "university", "govt": "government", "est": "established",
    "apt": "apartment", "misc": "miscellaneous", "tel": "telephone", "ext": "extension",
    "ea": "each", "acct": "account", "doz": "dozen", "cf": "compare",
    "bros": "brothers", "assoc": "association", "incl": "including", "cont": "continued", "esq": "esquire",
    "ave": "avenue", "blvd": "boulevard", "hwy": "highway", "mgr": "manager", "mfg": "manufacturing",
    "temp": "temperature", "hrs": "hours", "mins": "minutes", "avg": "average", "vs": "versus",
    "et al": "et al", "viz": "namely",
}  # only when followed by a full stop
NUMBERED = {
    "no": "number", "nos": "numbers", "fig": "figure", "figs": "figures", "p": "page",
    "pp": "pages", "vol": "volume", "ch": "chapter", "sec": "section", "eq": "equation",
    "ed": "edition", "ext": "extension", "tel": "telephone", "art": "article", "ver": "version",
    "op": "opus", "rev": "revision", "max": "maximum",
}  # only before a number, with a full stop
SHORT_FORMS = {
    "w/o": "without", "w/": "with ", "c/o": "care of", "vs": "versus", "n/a": "not applicable",
    "ok": "okay", "ph.d": "PhD", "i.e": "that is", "e.g": "for example",
    "qty": "quantity", "w/in": "within", "b/c": "because", "thx": "thanks", "gr8": "great",
    "l8r": "later", "pls": "please", "plz": "please",
    "yoy": "year over year", "idk": "IDK", "omg": "OMG", "imo": "IMO", "imho": "IMHO", "aka": "AKA",
    "ttyl": "TTYL", "fyi": "FYI", "irl": "IRL", "iirc": "IIRC", "afaik": "AFAIK", "rsvp": "RSVP",
    "wwi": "World War One", "ww1": "World War One", "wwii": "World War Two", "ww2": "World War Two",
}  # whole, in any case; a full stop behind them belongs to them

STREETS = {
    "st": "street", "ave": "avenue", "blvd": "boulevard", "rd": "road", "ln": "lane",
    "ct": "court", "dr": "drive", "sq": "square", "pl": "place", "hwy": "highway",
    "pkwy": "parkway", "expy": "expressway", "ter": "terrace",
}  # behind a name
ROOMS = {"Apt": "apartment", "Ste": "suite", "Rm": "room", "Bldg": "building", "Hwy": "highway",
         "Rte": "route", "Fl": "floor"}
PARTS_OF_THE_WORLD = (
    "Korea America Africa Dakota Carolina Virginia Ireland Yorkshire Wales Asia Europe Australia Sudan Pole"
).split()  # that a point of the compass stands before
DIRECTIONS = {
    "N": "north", "S": "south", "E": "east", "W": "west", "NE": "northeast", "NW": "northwest",
    "SE": "southeast", "SW": "southwest",
}
STATES_IN_PRINT = dict(pair.split(":") for pair in (
    "Ala:Alabama Ariz:Arizona Ark:Arkansas Calif:California Colo:Colorado Conn:Connecticut Del:Delaware "
    "Fla:Florida Ga:Georgia Ill:Illinois Ind:Indiana Kan:Kansas Ky:Kentucky La:Louisiana Md:Maryland "
    "Mass:Massachusetts Mich:Michigan Minn:Minnesota Mo:Missouri Mont:Montana "
    "Neb:Nebraska Nev:Nevada Okla:Oklahoma Ore:Oregon Pa:Pennsylvania Tenn:Tennessee Tex:Texas "
    "Vt:Vermont Va:Virginia Wash:Washington Wis:Wisconsin Wyo:Wyoming"
).split(" "))  # as newspapers have them, behind a town, with a full stop
STATES = dict(pair.split(":") for pair in (
    "AL:Alabama AK:Alaska AZ:Arizona AR:Arkansas CA:California CO:Colorado CT:Connecticut "
    "DE:Delaware FL:Florida GA:Georgia HI:Hawaii ID:Idaho IL:Illinois IN:Indiana IA:Iowa "
    "KS:Kansas KY:Kentucky LA:Louisiana ME:Maine MD:Maryland MA:Massachusetts MI:Michigan "
    "MN:Minnesota MS:Mississippi MO:Missouri MT:Montana NE:Nebraska NV:Nevada NH:New_Hampshire "
    "NJ:New_Jersey NM:New_Mexico NY:New_York NC:North_Carolina ND:North_Dakota OH:Ohio "
    "OK:Oklahoma OR:Oregon PA:Pennsylvania RI:Rhode_Island SC:South_Carolina SD:South_Dakota "
    "TN:Tennessee TX:Texas UT:Utah VT:Vermont VA:Virginia WA:Washington WV:West_Virginia "
    "WI:Wisconsin WY:Wyoming DC:D_C"
).replace("_", "\u00a0").split(" "))  # before a postal code, or behind a town
WORDS_LIKE_STATES = "AL CO DE HI ID IN LA MA MD ME MS OH OK OR PA".split()  # words, titles and degrees

SYMBOLS = {
    "&": "and", "@": "at", "%": "percent", "+": "plus", "=": "equals", "#": "number",
    "°": "degrees", "×": "times", "÷": "divided by", "<": "less than", ">": "greater than",
    "±": "plus or minus", "€": "euros", "£": "pounds", "$": "dollars", "¥": "yen", "₹": "rupees",
    "~": "about", "≈": "approximately equals", "≠": "is not equal to", "√": "square root of",
    "≤": "less than or equal to", "≥": "greater than or equal to", "∞": "infinity", "−": "minus",
    "©": "copyright", "§": "section", "¢": "cents", "‰": "per mille", "∑": "sum of", "∫": "integral of",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "Δ": "delta", "ε": "epsilon",
    "θ": "theta", "λ": "lambda", "μ": "mu", "π": "pi", "σ": "sigma", "φ": "phi",
    "ω": "omega", "Ω": "omega", "ζ": "zeta", "η": "eta", "κ": "kappa", "ν": "nu", "ξ": "xi", "ρ": "rho",
    "τ": "tau", "χ": "chi", "ψ": "psi", "∀": "for all", "∃": "there is", "∈": "in", "∂": "partial",
    "∇": "del", "⊂": "subset of", "∪": "union", "∩": "intersection", "∠": "angle", "△": "triangle",
    "∛": "cube root of", "Σ": "sigma", "∆": "delta", "¶": "paragraph", "∥": "is parallel to",
    "⊥": "is perpendicular to", "∴": "therefore",
}
ELEMENTS = set(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Ti Cr Mn Fe Co Ni Cu Zn Br Ag Sn I Ba Au "
    "Hg Pb U".split()
)

SPOKEN_ACRONYMS = set(
    "ram rom pin sim gif lan wan zip dos cad vat aids nasa nato opec fifa uefa unesco unicef "
    "covid laser radar jpeg bios asap scuba json yaml ice".split()
)  # said as words
SPELLED_ACRONYMS = set(
    "fbi cia usa uk eu un ceo cfo cto ufo iq ai api url usb dna naacp ucla usda aclu asus iaea icao "
    "iupac iata usaf usmc imdb ieee ymca imho aka ttyl fyi iirc "
    "afaik unhcr aspca".split()
)
CAPITAL_WORDS = set(
    "an am as at be by do go he hi if in is it me my no of oh on or so to up we all and any are "
    "bad big boy but buy can car cat cow cut day did dog eat end far few for get got guy had has "
    "her him his hot how its job let lot man may men mix new not now off old one our out own pay "
    "put red run say see set she sit six stop sun ten the too top try two use war was way who why "
    "win yes yet you zoo bus cup egg hat key map pen pig sky tea toy box fox bed bee ant exit "
    "fun mad sad ate odd won wet news love hate free stop please help never ever just more most best "
    "sale open that this what have with your from good here there they".split()
)  # short words that shouting or a sign puts in capitals
