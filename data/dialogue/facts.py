"""Facts of the small world, as tables. Only data: how they are asked is in the other files."""

from __future__ import annotations


def _table(text: str, sep: str = "|") -> list[tuple[str, ...]]:
    return [tuple(p.strip() for p in row.split(sep)) for row in text.split(";") if row.strip()]


CAPITALS: dict[str, str] = dict(_table("""
France|Paris; Spain|Madrid; Italy|Rome; Germany|Berlin; England|London; Scotland|Edinburgh;
Wales|Cardiff; Ireland|Dublin; Portugal|Lisbon; Belgium|Brussels; Austria|Vienna;
Switzerland|Bern; the Netherlands|Amsterdam; Denmark|Copenhagen; Norway|Oslo; Sweden|Stockholm;
Finland|Helsinki; Iceland|Reykjavik; Poland|Warsaw; Hungary|Budapest; Greece|Athens;
Turkey|Ankara; Romania|Bucharest; Bulgaria|Sofia; Serbia|Belgrade; Croatia|Zagreb;
Slovenia|Ljubljana; Slovakia|Bratislava; the Czech Republic|Prague; Ukraine|Kyiv;
Russia|Moscow; Estonia|Tallinn; Latvia|Riga; Lithuania|Vilnius; Albania|Tirana; Malta|Valletta;
Cyprus|Nicosia; Georgia|Tbilisi; Armenia|Yerevan; China|Beijing; Japan|Tokyo;
South Korea|Seoul; North Korea|Pyongyang; India|New Delhi; Nepal|Kathmandu; Pakistan|Islamabad;
Bangladesh|Dhaka; Thailand|Bangkok; Vietnam|Hanoi; Indonesia|Jakarta; Malaysia|Kuala Lumpur;
the Philippines|Manila; Mongolia|Ulaanbaatar; Iran|Tehran; Iraq|Baghdad; Lebanon|Beirut;
Jordan|Amman; Saudi Arabia|Riyadh; Qatar|Doha; Afghanistan|Kabul; Egypt|Cairo;
Morocco|Rabat; Algeria|Algiers; Tunisia|Tunis; Libya|Tripoli; Kenya|Nairobi; Ethiopia|Addis Ababa;
Ghana|Accra; Nigeria|Abuja; Senegal|Dakar; Uganda|Kampala; Rwanda|Kigali; Zimbabwe|Harare;
Sudan|Khartoum; Somalia|Mogadishu; Angola|Luanda; Canada|Ottawa; the United States|Washington;
Mexico|Mexico City; Cuba|Havana; Jamaica|Kingston; Panama|Panama City; Costa Rica|San Jose;
Brazil|Brasilia; Argentina|Buenos Aires; Chile|Santiago; Peru|Lima; Colombia|Bogota;
Ecuador|Quito; Venezuela|Caracas; Uruguay|Montevideo; Paraguay|Asuncion; Australia|Canberra;
New Zealand|Wellington
"""))

OPPOSITES: list[tuple[str, ...]] = _table("""
hot|cold; big|small; tall|short; long|brief; up|down; in|out; on|off; open|closed; old|young;
new|ancient; fast|slow; happy|sad; good|bad; wet|dry; full|empty; hard|soft; heavy|light;
bright|dull; dark|bright; day|night; left|right; top|bottom; front|back; rich|poor; early|late;
loud|quiet; noisy|silent; clean|dirty; strong|weak; thick|thin; wide|narrow; deep|shallow;
near|far; high|low; first|last; start|end; begin|finish; push|pull; give|take; buy|sell;
come|go; win|lose; love|hate; laugh|cry; sit|stand; sleep|wake; inside|outside; above|below;
over|under; before|after; always|never; all|none; more|less; many|few; same|different;
true|false; yes|no; easy|difficult; simple|complex; smooth|rough; sharp|blunt; sweet|sour;
fresh|stale; raw|cooked; safe|dangerous; brave|afraid; kind|cruel; polite|rude; clever|foolish;
wise|silly; beautiful|ugly; pretty|plain; tight|loose; straight|curved; round|flat; fat|slim;
awake|asleep; alive|dead; healthy|sick; black|white; north|south; east|west; summer|winter;
morning|evening; sunrise|sunset; boy|girl; man|woman; king|queen; brother|sister;
father|mother; uncle|aunt; son|daughter; husband|wife; prince|princess; friend|enemy;
teacher|student; question|answer; problem|solution; arrive|leave; enter|exit; remember|forget;
find|hide; save|spend; build|destroy; float|sink; rise|fall; grow|shrink; increase|decrease;
add|subtract; multiply|divide; accept|refuse; agree|disagree; appear|vanish; attack|defend;
borrow|lend; catch|throw; freeze|melt; import|export; join|separate; lock|unlock; pass|fail;
praise|blame; send|receive; speak|listen; succeed|give up; teach|learn; tie|untie; whisper|shout;
work|rest; war|peace; noise|silence; truth|lie; success|failure; heaven|earth; floor|ceiling;
entrance|way out; cheap|expensive; common|rare; modern|old-fashioned; public|private; busy|idle;
calm|angry; careful|careless; certain|unsure; guilty|innocent; lazy|hardworking; lucky|unlucky;
mild|strict; patient|impatient; possible|impossible; proud|humble; quick|gradual;
rude|polite; solid|liquid; tame|wild; useful|useless; visible|invisible; warm|cool; male|female;
native|foreign; maximum|minimum; plus|minus; ahead|behind; together|apart; upstairs|downstairs
""")

# name | sound | baby | legs | where it lives
ANIMALS: list[tuple[str, ...]] = _table("""
dog|woof|puppy|4|in a house; cat|meow|kitten|4|in a house; cow|moo|calf|4|on a farm;
horse|neigh|foal|4|on a farm; sheep|baa|lamb|4|on a farm; goat|maa|kid|4|on a farm;
pig|oink|piglet|4|on a farm; duck|quack|duckling|2|near water; hen|cluck|chick|2|on a farm;
goose|honk|gosling|2|near water; lion|roar|cub|4|in Africa; bear|growl|cub|4|in the forest;
wolf|howl|pup|4|in the forest; frog|ribbit|tadpole|4|near water; owl|hoot|owlet|2|in the forest;
bee|buzz||6|in a hive; mouse|squeak|pup|4|in a small hole; snake|hiss|hatchling|0|on the ground;
bird|tweet|chick|2|in a nest; donkey|hee-haw|foal|4|on a farm;
rooster|cock-a-doodle-doo||2|on a farm;
turkey|gobble||2|on a farm; elephant|trumpet|calf|4|in Africa; tiger|roar|cub|4|in the jungle;
kangaroo||joey|4|in Australia; rabbit||kit|4|in a burrow; deer||fawn|4|in the forest;
fox||cub|4|in the forest; swan||cygnet|2|near water; spider|||8|in a web;
ant|||6|in an anthill; butterfly||caterpillar|6|in the garden; penguin||chick|2|in the cold south;
giraffe||calf|4|in Africa; zebra||foal|4|in Africa; monkey|||4|in the jungle;
whale||calf|0|in the sea; dolphin||calf|0|in the sea; shark||pup|0|in the sea;
fish|||0|in water; octopus|||8|in the sea; crab|||10|by the sea; camel||calf|4|in the desert;
fly|||6|in the air; eagle||eaglet|2|in the mountains; seal||pup|0|by the sea;
crocodile||hatchling|4|in rivers; snail|||0|in the garden; worm|||0|in the soil
""")

# thing | color
COLORS: dict[str, str] = dict(_table("""
a banana|yellow; a tomato|red; the sky|blue; grass|green; snow|white; coal|black; a carrot|orange;
a lemon|yellow; a strawberry|red; a cherry|red; a frog|green; a leaf|green; the sun|yellow;
milk|white; chocolate|brown; an elephant|gray; a pumpkin|orange; a fire truck|red; blood|red;
a cucumber|green; a pea|green; a plum|purple; an eggplant|purple; a flamingo|pink; a pig|pink;
the sea|blue; a polar bear|white; a crow|black; an orange|orange; sand|yellow; a lime|green;
broccoli|green; butter|yellow; a canary|yellow; a ladybug|red; a blueberry|blue; salt|white;
sugar|white; a swan|white; a mouse|gray; soil|brown; wood|brown; a coconut|brown; coffee|brown;
a cloud|white; the night sky|black; a tire|black; lettuce|green; spinach|green; a stop sign|red;
corn|yellow; cheese|yellow; an egg yolk|yellow; a raspberry|red; a lobster|red; a peach|orange;
a chick|yellow; a cactus|green; a dolphin|gray; rice|white; cotton|white; a bear|brown
"""))
MIXES: dict[tuple[str, str], str] = {
    ("red", "yellow"): "orange", ("blue", "yellow"): "green", ("red", "blue"): "purple",
    ("red", "white"): "pink", ("black", "white"): "gray", ("red", "green"): "brown",
}

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
MONTH_DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
# things counted in other things: (part, whole, number)
AMOUNTS: list[tuple[str, ...]] = _table("""
days|a week|7; months|a year|12; hours|a day|24; minutes|an hour|60; seconds|a minute|60;
seasons|a year|4; letters|the alphabet|26; days|a year|365; weeks|a year|52; years|a century|100;
years|a decade|10; legs|a table|4; wheels|a car|4; wheels|a bicycle|2; wheels|a tricycle|3;
sides|a triangle|3; sides|a square|4; corners|a square|4; corners|a triangle|3; eggs|a dozen|12;
fingers|one hand|5; toes|one foot|5; colors|a rainbow|7; planets|the solar system|8;
sides|a hexagon|6; sides|a pentagon|5; days|a weekend|2; meters|a kilometer|1000;
cents|a dollar|100; players|a soccer team|11; strings|a violin|4; continents|the world|7;
eyes|a face|2; points|a five-pointed star|5; sides|a cube|6; days|two weeks|14
""")

NAMES = """Ana Tom Maria Ben Lucy Sam Emma Jack Nora Leo Mia Max Sara Paul Anna Peter Julia David
Laura Mark Eva Adam Clara Simon Alice Daniel Rosa Henry Grace Oscar Ella Martin Ivy George Lily
Felix Zoe Hugo Ruby Victor Jane Luke Helen Omar Amina Carlos Ines Yuki Kenji Mei Wei Ravi Priya Ali
Fatima Ivan Olga Pedro Lucia Marco Sofia Jonas Greta Finn Ingrid Lars Astrid Nina Robert Susan
James Kate William Sophie Thomas Amy Joseph Linda Andrew Diana Frank Maya Eric Tina""".split()

SPELLABLE = """cat dog sun moon tree fish bird book ball cup hat bed car bus egg milk apple bread
water house mouse horse sheep chair table green black white happy river stone cloud plant train
plane light night friend school orange yellow purple window garden flower banana animal doctor
mother father sister brother summer winter spring rabbit tiger lion bear duck frog goat cow pig
hen bee ant fox owl rose leaf rain snow wind star ship boat door wall floor roof lamp clock phone
music paper pencil shirt shoe sock coat glove spoon fork knife plate bowl soup rice meat cheese
butter sugar salt lemon grape cherry peach pear plum onion potato carrot tomato pepper family
baby girl boy man woman king queen hello world red blue pink brown gray one two three four five
six seven eight nine ten hand foot head nose eye ear mouth arm leg heart street city town farm
beach ocean island forest mountain picture number letter word name love time year day week
month""".split()
