"""Simple definitions: thing, what it is, which category. `~` marks a word that takes no article."""

from __future__ import annotations

_THINGS = """
hammer|a tool for driving nails|tool; saw|a tool for cutting wood|tool
screwdriver|a tool for turning screws|tool; drill|a tool for making holes|tool
shovel|a tool for digging|tool; rake|a tool for gathering leaves|tool
axe|a tool for chopping wood|tool; wrench|a tool for turning nuts and bolts|tool
ladder|a frame with steps for climbing|tool; broom|a brush with a long handle for sweeping|tool
bucket|an open container for carrying water|tool; rope|a strong thick cord|tool
nail|a thin metal pin that holds wood together|tool; needle|a thin pin used for sewing|tool
scissors~|a tool with two blades for cutting paper|tool; ruler|a straight stick for measuring|tool
pen|a tool for writing with ink|tool; pencil|a tool for writing and drawing|tool
knife|a tool with a blade for cutting|tool; spoon|a tool for eating soup|tool
fork|a tool with points for eating|tool; key|a small metal tool that opens a lock|tool
lock|a device that keeps a door shut|tool; umbrella|a cover that keeps you dry in the rain|tool
brush|a tool with hairs for cleaning or painting|tool; comb|a tool for tidying hair|tool
apple|a round fruit that grows on a tree|fruit; banana|a long yellow fruit|fruit
orange|a round juicy fruit with a thick skin|fruit; lemon|a sour yellow fruit|fruit
grape|a small round fruit that grows in bunches|fruit; cherry|a small red fruit with a stone|fruit
pear|a sweet fruit with a narrow top|fruit; peach|a soft sweet fruit with a stone|fruit
plum|a soft purple fruit|fruit; strawberry|a soft red fruit with tiny seeds|fruit
melon|a large round juicy fruit|fruit; pineapple|a sweet fruit with a spiky skin|fruit
kiwi|a small brown fruit that is green inside|fruit
mango|a sweet orange fruit from warm lands|fruit
carrot|a long orange root that we eat|vegetable; potato|a root that grows under the ground|vegetable
onion|a round vegetable with many layers|vegetable
cabbage|a round vegetable with big leaves|vegetable
cucumber|a long green vegetable|vegetable; broccoli~|a green vegetable like a small tree|vegetable
lettuce~|a leafy vegetable for salads|vegetable; spinach~|a dark green leafy vegetable|vegetable
pea|a small round green vegetable|vegetable; bean|a seed that we eat as a vegetable|vegetable
bread~|a food baked from flour|food; cheese~|a food made from milk|food
butter~|a soft yellow food made from milk|food; rice~|small white grains that we eat|food
soup~|a hot liquid food|food; cake|a sweet baked food|food
pizza|a flat bread with cheese on top|food
sandwich|two slices of bread with food between them|food; egg|a round food laid by a hen|food
honey~|a sweet food made by bees|food; salt~|white grains that make food tasty|food
sugar~|sweet white grains|food; chocolate~|a sweet brown food made from cocoa|food
cookie|a small flat sweet cake|food; salad|a cold dish of vegetables|food
milk~|a white drink that comes from cows|drink; water~|a clear liquid that we drink|drink
tea~|a hot drink made from leaves|drink; coffee~|a hot drink made from roasted beans|drink
juice~|a drink made from fruit|drink; lemonade~|a sweet drink made from lemons|drink
dog|a friendly animal that barks|animal; cat|a small furry animal that meows|animal
cow|a large farm animal that gives milk|animal; horse|a large animal that people ride|animal
sheep|a farm animal that gives wool|animal; pig|a farm animal with a flat nose|animal
goat|a farm animal with horns|animal; rabbit|a small animal with long ears|animal
mouse|a very small animal with a long tail|animal; elephant|a huge gray animal with a trunk|animal
lion|a big wild cat with a mane|animal; tiger|a big wild cat with stripes|animal
bear|a large strong animal with thick fur|animal; wolf|a wild animal like a large dog|animal
fox|a wild animal with a bushy tail|animal; monkey|a clever animal that climbs trees|animal
giraffe|a tall animal with a very long neck|animal; zebra|a striped animal like a horse|animal
camel|a desert animal with a hump|animal; kangaroo|a jumping animal with a pouch|animal
snake|a long animal with no legs|animal; frog|a small green animal that jumps|animal
turtle|a slow animal with a hard shell|animal; whale|a huge animal that lives in the sea|animal
dolphin|a clever animal that swims in the sea|animal; shark|a large fish with sharp teeth|animal
fish|an animal that lives and breathes in water|animal; octopus|a sea animal with eight arms|animal
hen|a farm bird that lays eggs|bird; duck|a bird that swims on ponds|bird
owl|a bird that hunts at night|bird; eagle|a large bird that hunts by day|bird
parrot|a colorful bird that can copy speech|bird; penguin|a bird that swims and cannot fly|bird
swan|a large white bird with a long neck|bird; crow|a large black bird|bird
bee|a small insect that makes honey|insect; ant|a tiny insect that lives in large groups|insect
butterfly|an insect with large colorful wings|insect; fly|a small insect with two wings|insect
spider|a small animal with eight legs that spins webs|animal
ladybug|a small red insect with black spots|insect
rose|a flower with thorns and a sweet smell|flower; tulip|a spring flower shaped like a cup|flower
daisy|a small white flower with a yellow middle|flower; sunflower|a tall yellow flower|flower
tree|a tall plant with a trunk and branches|plant; grass~|a green plant that covers the ground|plant
cactus|a desert plant with spines|plant; leaf|a flat green part of a plant|plant
flower|the colorful part of a plant|plant; seed|the small part from which a plant grows|plant
car|a machine with four wheels that people drive|vehicle
bus|a long vehicle that carries many people|vehicle
train|a line of wagons that runs on rails|vehicle
bicycle|a vehicle with two wheels and pedals|vehicle
plane|a machine with wings that flies|vehicle; boat|a small vehicle that floats on water|vehicle
ship|a large vehicle that crosses the sea|vehicle; truck|a large vehicle that carries goods|vehicle
helicopter|a flying machine with turning blades on top|vehicle
rocket|a machine that flies into space|vehicle
tractor|a strong vehicle used on farms|vehicle
motorcycle|a vehicle with two wheels and an engine|vehicle
chair|a seat for one person|furniture; table|a flat top on legs|furniture
bed|a soft place to sleep|furniture; sofa|a soft seat for several people|furniture
desk|a table for working|furniture; shelf|a board that holds things|furniture
lamp|a thing that gives light|furniture; cupboard|a box with doors for keeping things|furniture
shirt|a piece of clothing for the upper body|clothing; hat|a piece of clothing for the head|clothing
coat|a warm piece of clothing for outdoors|clothing; sock|a piece of clothing for the foot|clothing
shoe|a cover for the foot|clothing; glove|a piece of clothing for the hand|clothing
scarf|a warm cloth for the neck|clothing; dress|a piece of clothing with a skirt|clothing
guitar|an instrument with six strings|instrument
piano|an instrument with black and white keys|instrument
drum|an instrument that you hit|instrument
violin|an instrument with four strings and a bow|instrument
flute|an instrument that you blow|instrument; trumpet|a brass instrument that you blow|instrument
doctor|a person who helps sick people|job; teacher|a person who helps people learn|job
farmer|a person who grows food|job; baker|a person who bakes bread|job
pilot|a person who flies planes|job; nurse|a person who cares for sick people|job
cook|a person who makes meals|job; firefighter|a person who puts out fires|job
painter|a person who paints|job; singer|a person who sings|job; writer|a person who writes books|job
house|a building where people live|building; school|a building where children learn|building
hospital|a building where sick people are helped|building; library|a building full of books|building
shop|a place where things are sold|building; castle|a large old building with strong walls|building
church|a building where people pray|building; bridge|a road that crosses a river|building
farm|a place where food is grown|place; garden|a place where flowers grow|place
forest|a place with many trees|place; beach|a sandy place by the sea|place
desert|a very dry place with little rain|place; island|land with water all around it|place
mountain|a very high hill|place; river|a long stream of flowing water|place
lake|a large area of water with land around it|place; ocean|a very large area of salt water|place
city|a very large town|place; village|a very small town|place
park|a green place for walking and playing|place
sun~the|the star that gives us light and warmth|star
moon~the|the round body that circles the Earth|
star|a hot ball of gas far away in space|; planet|a large round body that circles a star|
cloud|a white mass of tiny water drops in the sky|; rain~|water that falls from clouds|weather
snow~|soft white ice that falls in winter|weather; wind~|air that moves|weather
fog~|a cloud that lies near the ground|weather; thunder~|the loud noise of a storm|weather
rainbow|a bow of colors in the sky|; ice~|frozen water|; fire~|the heat and light of burning things|
sand~|tiny grains of stone|; gold~|a yellow metal that costs a lot|metal
iron~|a strong gray metal|metal
silver~|a shiny white metal|metal; wood~|the hard part of a tree|; glass~|a clear hard material|
paper~|a thin material for writing on|; book|a set of pages to read|; letter|a written message|
newspaper|a set of printed pages with news|; map|a picture of a place seen from above|
picture|a drawing or a photograph|; camera|a machine that takes pictures|machine
computer|a machine that works with information|machine
phone|a machine for talking to people far away|machine
clock|a machine that shows the time|machine; radio|a machine that plays sounds from far away|machine
robot|a machine that can do tasks by itself|machine; fridge|a machine that keeps food cold|machine
oven|a hot box for baking food|machine; engine|a machine that makes things move|machine
telescope|a tube for looking at far things|machine; ball|a round toy for throwing and kicking|toy
doll|a toy that looks like a person|toy; kite|a toy that flies in the wind|toy
puzzle|a game of parts that fit together|toy; balloon|a thin bag filled with air|toy
soccer~|a game of kicking a ball into a goal|sport
tennis~|a game of hitting a ball over a net|sport
swimming~|moving through water with your arms and legs|sport
basketball~|a game of throwing a ball through a hoop|sport
triangle|a shape with three sides|shape; square|a shape with four equal sides|shape
circle|a perfectly round shape|shape; rectangle|a shape with four sides and four right angles|shape
eye|the part of the body that sees|body part; ear|the part of the body that hears|body part
nose|the part of the body that smells|body part
hand|the part of the body at the end of the arm|body part
heart|the part of the body that pumps blood|body part
mouth|the part of the face that eats and speaks|body part
winter~|the coldest season of the year|season; summer~|the hottest season of the year|season
spring~|the season after winter|season; autumn~|the season after summer|season
song|a piece of music with words|; story|a tale about things that happened|
friend|a person you like and trust|
family|a group of parents and children|; baby|a very young child|
birthday|the day on which you were born|
week|a time of seven days|; year|a time of twelve months|; minute|a time of sixty seconds|
word|a group of letters with a meaning|; alphabet~the|the set of all letters|
number|a word or sign for counting|
"""


def article(word: str) -> str:
    """The word with a or an."""
    return f"{'an' if word[0].lower() in 'aeio' or word.startswith('um') else 'a'} {word}"


def _parse() -> list[tuple[str, str, str, str]]:
    rows = []
    for row in _THINGS.replace("\n", ";").split(";"):
        if not row.strip():
            continue
        word, meaning, category = (part.strip() for part in row.split("|"))
        word, _, mark = word.partition("~")
        bare = mark == "" and "~" in row
        named = f"the {word}" if mark == "the" else word if bare else article(word)
        rows.append((word, named, meaning, category))
    return rows


# (word, word with its article, meaning, category or "")
THINGS = _parse()
SINGLE = [thing for thing in THINGS if thing[1] == article(thing[0])]  # "a dog", not "water" or "the sun"
CATEGORIES = sorted({row[3] for row in THINGS if row[3]})
MASS = {"furniture", "clothing", "food", "weather"}  # categories that take no article
# Pairs for which a plain yes or no would be unfair: a bird is an animal, and so on.
NESTED = {("bird", "animal"), ("insect", "animal"), ("flower", "plant"), ("fruit", "food"),
          ("vegetable", "food"), ("drink", "food"), ("instrument", "toy"), ("building", "place"),
          ("star", "place"), ("fruit", "plant"), ("vegetable", "plant"), ("vehicle", "machine"),
          ("tool", "machine"), ("machine", "tool"), ("toy", "tool"), ("animal", "food"),
          ("sport", "toy"), ("food", "plant"), ("furniture", "tool"), ("place", "building"),
          ("animal", "bird"), ("vegetable", "fruit"), ("food", "drink"), ("machine", "vehicle"),
          ("instrument", "tool"), ("building", "machine"), ("toy", "sport")}
# Real words outside the world: the honest answer is not to know them.
UNKNOWN = """quasar mortgage carburetor algorithm enzyme sonata tariff glacier neuron parliament
molecule senate treaty hormone satire fjord gargoyle tundra isotope monsoon rhetoric alloy ledger
pendulum gasket turbine vaccine embargo plankton fresco sextant lattice zeppelin cartel dividend
obelisk samovar trellis warranty yeoman zeolite fuselage gyroscope hemisphere inverter joist kiln
lacquer mantle nebula orchestra pigment quarry rivet solstice tannin""".split()
