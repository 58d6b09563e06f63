"""Text normalisation: what is said for what is written."""

import re

import pytest

from inference.normalisation import can_say, normalise
from inference.normalisation.numbers import number, roman, year
from inference.notice import Notice
from models.errors import UserError

SAID = {
    "IPv6 on Wi-Fi 802.11ac": "eye pee version six on wi fi eight oh two dot eleven ay see",
    "U.S.A. vs. U.K.": "you ess ay versus you kay",
    "3 min. 20 sec.": "three minutes twenty seconds .",
    "I waited 5 min. It was long.": "i waited five minutes . it was long .",
    "Mon–Fri 9–5": "monday to friday nine to five",
    "$5/hr, £3/kg, each/hr": "five dollars per hour , three pounds per kilogram , each aitch are",
    "1e-5": "one times ten to the power of minus five",
    "10⁻³ m, 10³ km, 5²":
        "ten to the power of minus three meters , ten to the power of three kilometers , five squared",
    "x^-2": "ex to the power of minus two",
    "1,5 kg of 1,500 kg": "one point five kilograms of one thousand five hundred kilograms",
    "<b>bold</b> x < y > z": "bold ex less than why greater than zee",
    "Rs. 500, Rs 1,00,000": "five hundred rupees , one hundred thousand rupees",
    "€5,50; 5,50 €; I gave 5,50":
        "five euros and fifty cents , five euros and fifty cents , i gave five , fifty",
    "18:30h, 0600 hours, 1800 hours": "eighteen thirty , oh six hundred hours , eighteen hundred hours",
    "the 5th–6th century": "the fifth to sixth century",
    "1080p, N° 7": "ten eighty pee , number seven",
    "Vol. II. No. I think so.": "volume two . no . i think so .",
    "420 ppm, 5 mol/L, 5 mi/gal":
        "four hundred and twenty parts per million , five moles per liter , five miles per gallon",
    "ca. 1900, '68-'72": "circa nineteen hundred , sixty eight to seventy two",
    "USD 3 million, $20 USD": "three million dollars , twenty dollars",
    "Tel: 555 1234": "tel , five five five , one two three four",
    "N. Korea, E. coli, T. rex": "north korea , ee coli , tee rex",
    "221B Baker Street, Ft. Worth, Hwy. 1": "two twenty one bee baker street , fort worth , highway one",
    "INV-2023-001": "eye en vee two thousand and twenty three , zero zero one",
    "WWI and WW2": "world war one and world war two",
    "11/16 in, 1/4\", 20\" x 30\"":
        "eleven sixteenths inch , one quarter inch , twenty inches by thirty inches",
    "FY2022, the 2019/20 season, 12/2021":
        "fiscal year twenty twenty two , the twenty nineteen twenty season , december twenty twenty one",
    "42nd St. & 5th Ave.": "forty second street and fifth avenue",
    "25 bps, 27 pts, 5MP": "twenty five basis points , twenty seven points , five megapixels",
    "omega-3s": "omega threes",
    "at 350F, to 180C/350F": "at three hundred and fifty degrees fahrenheit , "
    "to one hundred and eighty degrees celsius or three hundred and fifty degrees fahrenheit",
    "a 10-ft pole, a 15-oz. can": "a ten foot pole , a fifteen ounce can",
    "1 lb. 6 oz.": "one pound six ounces .",
    "4.5/5, 10/10, 50/50, 5/10": "four point five out of five , ten out of ten , fifty fifty , five tenths",
    "Acts 2:38-41": "acts two thirty eight to forty one",
    "Scene ii, page 3/10": "scene two , page three of ten",
    "U.S.-based; the E.U.'s rules": "you ess based , the ee you's rules",
    "10s of thousands, 1000s": "tens of thousands , thousands",
    "p's and q's; Malcolm X": "pee's and cue's , malcolm ex",
    "a B-, type AB-": "a bee minus , type ay bee negative",
    "Op. 125": "opus one hundred and twenty five",
    "10x": "ten times",
    "on Main St. It is near St. John": "on main street . it is near saint john",
    "vitamin C. It helps; J. Smith": "vitamin see . it helps , jay smith",
    "What is 5 - 3? 10 - 12 people": "what is five minus three ? ten to twelve people",
    "7 x 8 = 56": "seven times eight equals fifty six",
    "a 4 x 6 picture": "a four by six picture",
    "1.299,99 €, EUR 2.500, 3.5 €": "one thousand two hundred and ninety nine euros and ninety nine cents , "
    "two thousand five hundred euros , three euros and fifty cents",
    "by 12/25, on 3/4, 3/4 cup, 7/20 of":
        "by december twenty fifth , on march fourth , three quarters cup , seven twentieths of",
    "80 Kg, 60 MPH, 8 fl oz, 50 m2":
        "eighty kilograms , sixty miles per hour , eight fluid ounces , fifty square meters",
    "20C outside, 98.6 F, 350 degrees F": "twenty degrees celsius outside , "
    "ninety eight point six degrees fahrenheit , three hundred and fifty degrees fahrenheit",
    "1-1/2 cups": "one and one half cups",
    "8 a.m. - 5 p.m., 8 a.m.-noon": "eight ay em to five pee em , eight ay em to noon",
    "a 7/10, 4/5 stars": "a seven out of ten , four out of five stars",
    "FUN on Sat, the sun": "fun on saturday , the sun",
    "two 6s in 6s": "two sixes in six seconds",
    "a $20 shirt for $20": "a twenty dollar shirt for twenty dollars",
    "1:00:00": "one o clock",
    "3.5 x 10^8 m/s": "three point five times ten to the power of eight meters per second",
    "50 Hz–20 kHz; 3 m x 4 m": "fifty hertz to twenty kilohertz , three meters by four meters",
    "200 hp, 1 atm, 100 yds, 3 kΩ":
        "two hundred horsepower , one atmosphere , one hundred yards , three kilohms",
    "2/3rds, a 90° angle": "two thirds , a ninety degree angle",
    "Y2K; 4K; V8": "why two kay , four kay , vee eight",
    "x = -b, y < -x": "ex equals minus bee , why less than minus ex",
    "a rug of 3' x 5', a 10' tall tree": "a rug of three by five feet , a ten feet tall tree",
    "98/100; max. 10; rev. 3": "ninety eight out of one hundred , maximum ten , revision three",
    "n-1, a B-2, 5★, μ = 5": "en minus one , a bee two , five stars , mu equals five",
    "a 12MP camera, an 8 GB card, a 27\" monitor":
        "a twelve megapixel camera , an eight gigabyte card , a twenty seven inch monitor",
    "a 5 km run, an 18 ft tall tree": "a five kilometer run , an eighteen feet tall tree",
    "I'LL CHECK IT OUT.": "i'll check it out .",
    "They HADN'T gone, I'mm sure.": "they hadn't gone , i'mm sure .",
    "CBSs and FHMs": "see bee esses and eff aitch ems",
    "Sgt.Pepper, for$30": "sergeant pepper , for thirty dollars",
    "Call +254 787 657000.":
        "call plus two five four , seven eight seven , six five seven zero zero zero .",
    "Copyright MMXXIV; a CIVIC duty": "copyright two thousand and twenty four , a civic duty",
    "y = 2x": "why equals two ex",
    "no. of items": "number of items",
    "5h 30m, 2m30s": "five hours thirty minutes , two minutes thirty seconds",
    "200 000; 1.000.000; 1-2-3; 1...2": "two hundred thousand , one million , one two three , one . two",
    "Jan-Mar, Jan 1 - Feb 2, Mon to Fri":
        "january to march , january first to february second , monday to friday",
    "2022-03-15T10:30:00Z": "march fifteenth , twenty twenty two , ten thirty you tee see",
    "i7-9700K, H.264, #FF0000":
        "eye seven ninety seven hundred kay , aitch two sixty four , hash eff eff zero zero zero zero",
    "a $20 bill": "a twenty dollar bill",
    "pip install -r x --upgrade": "pip install dash are ex dash dash upgrade",
    "~/Documents, C:\\a.txt": "tilde slash documents , see colon backslash ay dot tee ex tee",
    "0x8007": "zero ex eight zero zero seven",
    "thx, idk, b/c, fish 'n' chips": "thanks , eye dee kay , because , fish and chips",
    " from Fresno, CA, in 1857 \n": "from fresno , california , in eighteen fifty seven",
    "to Tucson, AZ ": "to tucson , arizona",
    "## Notes": "notes",
    "Ann <ann@x.com> wrote": "ann , ann at ex dot com , wrote",
    "850 sq. ft., 1 Gbit/s": "eight hundred and fifty square feet , one gigabit per second",
    "Brown v. Board, CVV 123": "brown versus board , see vee vee one two three",
    "under-18s, 3/5ths, 1 doz. eggs": "under eighteens , three fifths , one dozen eggs",
    "v1.0.0-beta.2": "version one point zero point zero beta dot two",
    "DE89 3704 0044 0532 0130 00": "dee ee eight nine , three seven zero four , zero zero four four , "
    "zero five three two , zero one three zero , zero zero",
    '"World 1" and "World 2"': "world one and world two",
    "Hale Ave Ste B3, 12 /9/1932":
        "hale avenue suite bee three , twelve nine one thousand nine hundred and thirty two",
    "St. Louis, MO. Well, OK.": "saint louis , missouri . well , okay .",
    "I-95 N, Pt. Reyes": "i ninety five north , point reyes",
    "120/80, 72 bpm": "one hundred and twenty over eighty , seventy two beats per minute",
    "∠ABC, χ²": "angle ay bee see , chi squared",
    "Hello, world!": "hello , world !",
    "I have 3 cats and 21 dogs.": "i have three cats and twenty one dogs .",
    "1,234,567": "one million two hundred and thirty four thousand five hundred and sixty seven",
    "It costs $3.50.": "it costs three dollars and fifty cents .",
    "$1, £0.99, $5 million": "one dollar , ninety nine pence , five million dollars",
    "at 5:30 pm, 5:00": "at five thirty pee em , five o clock",
    "at 7 a.m. today": "at seven ay em today",
    "on 2024-03-05": "on march fifth , twenty twenty four",
    "3/5/2024": "march fifth , twenty twenty four",
    "July 4 in 1984": "july fourth in nineteen eighty four",
    "the 1990s, the 21st": "the nineteen nineties , the twenty first",
    "Dr. Smith, Mr. J. R. Smith": "doctor smith , mister jay are smith",
    "50% & more": "fifty percent and more",
    "25°C, 5 km, 1 kg, 1/2 cup": "twenty five degrees celsius , five kilometers , one kilogram , "
    "one half cup",
    "-5": "minus five",
    "3.14, 007, 7.00338": "three point one four , zero zero seven , seven point zero zero three three eight",
    "The FBI": "the eff bee eye",
    "Café naïve Ærø": "cafe naive aero",
    "the dog's bone isn't here": "the dog's bone isn't here",
    "wait... what?": "wait . what ?",
    "tv": "tee vee",
    "No. 5": "number five",
    "2 + 2 = 4": "two plus two equals four",
    "i.e. this": "that is this",
    "x": "ex",
    "At 7:05 and 8:15 we eat.": "at seven oh five and eight fifteen we eat .",
    "I owe -$5 of $1.5M": "i owe minus five dollars of one point five million dollars",
    "Mr Brown likes '90s music 24/7": "mister brown likes nineties music twenty four seven",
    "31/12/2024": "december thirty first , twenty twenty four",
    "It was 1984.": "it was nineteen eighty four .",
    "1950 people in 1950 were 5'2\" tall": "one thousand nine hundred and fifty people in nineteen "
    "fifty were five feet two tall",
    "≥ ⅔ of ₹500": "greater than or equal to two thirds of five hundred rupees",
    "A": "ay",
    "A dog": "a dog",
    "Pick A, B or C": "pick ay , bee or see",
    "Call 555-0134": "call five five five , zero one three four",
    "ISBN 0-19-852663-X": "eye ess bee en , zero , one nine , eight five two six six three , ex",
    "Henry VIII, part I of it, the part I liked": "henry the eighth , part one of it , the part i liked",
    "9.8 m/s², 16 GB, 3 GHz": "nine point eight meters per second squared , sixteen gigabytes , "
    "three gigahertz",
    "AT&T on Main St. near St. Paul": "ay tee and tee on main street near saint paul",
    "Python 2.0.1, bob@mail.org": "python two point zero point one , bob at mail dot org",
    "E = mc² and H₂O": "ee equals em see squared and aitch two oh",
    "It is -3.5°C": "it is minus three point five degrees celsius",
    "pages 10–12, **bold**, ¥500": "pages ten to twelve , bold , five hundred yen",
    "hit .287, a .38 revolver, .5 mm": "hit point two eight seven , a thirty eight revolver , "
    "point five millimeters",
    "Docket No. 19-3021, SKU 77-B2-415, 0b110":
        "docket number one nine , three zero two one , ess kay you seventy seven , bee two , four hundred "
        "and fifteen , zero bee one one zero",
    "Account No. 55102": "account number five five one zero two",
    "He ran a 15K, the 8K race, 30K users":
        "he ran a fifteen kay , the eight kay race , thirty thousand users",
    "1s and 0s, some 7s, the 211 helpline": "ones and zeros , some sevens , the two one one helpline",
    "a 3* resort; between £2.5 and £4 million; goo.gl/x, ow.ly/2b": "a three star resort , "
    "between two point five and four million pounds , goo dot gee ell slash ex , "
    "ow dot ell why slash two bee",
    "a 3-day, $4M trial; x - z = 5; 8 Elm St #3":
        "a three day , four million dollar trial , ex minus zee equals five , eight elm street number three",
    "Isaiah 6:8, Psalm 150:6, Mark 16:15-18":
        "isaiah six eight , psalm one hundred and fifty six , mark sixteen fifteen to eighteen",
    "In 32:09 and 41:20, at 60:00; split 70:30 or 4:1":
        "in thirty two oh nine and forty one twenty , at sixty minutes , split seventy to thirty "
        "or four to one",
    "6:15ish, midnight-4am, 2300 hrs, T-9 days, a T-90":
        "six fifteenish , midnight to four ay em , twenty three hundred hours , tee minus nine days , "
        "a tee ninety",
    "post-1989, the Sun. paper": "post nineteen eighty nine , the sunday paper",
    "Our IT staff, an AM station, the WHO's view; do IT if you can.":
        "our eye tee staff , an ay em station , the double you aitch oh's view , do it if you can .",
    "the YMCA's JSON, imho": "the why em see ay's json , eye em aitch oh",
    "World War I ships, a Level I center; the level I won":
        "world war one ships , a level one center , the level i won",
    "Robert Lee IV met John Part II": "robert lee the fourth met john part two",
    "Maj. Tom, Adm. Hall and Pvt. Orr; Assoc. Prof. Wu; the Coen Bros. film":
        "major tom , admiral hall and private orr , associate professor wu , the coen brothers film",
    "In Miami, Fla., and Provo, UT on Monday; Salem, Ore. It rained.":
        "in miami , florida , and provo , utah on monday , salem , oregon . it rained .",
    "418 NW Cedar Ct., the Blvd. of stars": "four eighteen northwest cedar court , the boulevard of stars",
    "Mg²⁺, Br⁻, NO₃⁻ and Ag+; Fe^3+; he said In- or No-":
        "em gee two plus , bee are minus , en oh three minus and ay gee plus , eff ee three plus , "
        "he said in or no",
    "4! = 24, m!/p!, Stop 4!": "four factorial equals twenty four , em factorial divided by pee factorial , "
    "stop four !",
    "g'(t) and h''(x)": "gee prime , tee , and aitch double prime , ex ,",
    "the 250 GB drive, a 250MB Flash drive": "the two hundred and fifty gigabyte drive , "
    "a two hundred and fifty megabyte flash drive",
    "20 μL, 4 mmol/L, 90 mmHg, 7 MeV, 12 MWh, 2 Gb/s, 6 MPa":
        "twenty microliters , four millimoles per liter , ninety millimeters of mercury , "
        "seven mega electron volts , twelve megawatt hours , two gigabits per second , six megapascals",
    "Add 3 c. milk, 1/3 c. oil, 2 qts. water":
        "add three cups milk , one third cup oil , two quarts water",
    "160°C/320°F, 2 kg / 4.4 lb": "one hundred and sixty degrees celsius or three hundred and twenty "
    "degrees fahrenheit , two kilograms or four point four pounds",
    "A $3.4 billion plan, their $25M loan, a €900 Fiat":
        "a three point four billion dollar plan , their twenty five million dollar loan , "
        "a nine hundred euro fiat",
    "The $15 he paid, the $15 lunch, my 8 km west, each 8 km loop":
        "the fifteen dollars he paid , the fifteen dollar lunch , my eight kilometers west , "
        "each eight kilometer loop",
    "three $50 bills, £4 Million": "three fifty dollar bills , four million pounds",
    "4–6 June 2011, the 2nd-5th of May, 30 Jan - 2 Feb": "the fourth to sixth of june , twenty eleven , "
    "the second to fifth of may , the thirtieth of january to the second of february",
    "Wed 10/04, in 5:41.72, season 2017/2018": "wednesday october fourth , "
    "in five forty one point seven two , season twenty seventeen twenty eighteen",
    "AU$70, a HK$9 tea, an $18,000 car": "seventy australian dollars , a nine hong kong dollar tea , "
    "an eighteen thousand dollar car",
    "9 st 12 lb, 4ft 8in and more, a 6-yr-old": "nine stone twelve pounds , "
    "four feet eight inches and more , a six year old",
    "the ISBN is 978-3-16-148410-0; CVE-2017-54": "the eye ess bee en is nine seven eight , three , "
    "one six , one four eight four one zero , zero , see vee ee two thousand and seventeen , fifty four",
    "0049 30 901820; Queen Beatrix II, King Umberto I": "zero zero four nine , three zero , "
    "nine zero one eight two zero , queen beatrix the second , king umberto the first",
    "a 9×14 ft hall, a 5×8 card; 4 × 9 is 36; 11 - 4 makes 7": "a nine by fourteen foot hall , "
    "a five by eight card , four times nine is thirty six , eleven minus four makes seven",
    "52°31'1\"N, 13° 24′ E; a 4★ hotel": "fifty two degrees thirty one minutes one second north , "
    "thirteen degrees twenty four minutes east , a four star hotel",
    "a .xml file, ~~off~~ on, 77 9th St. N, Fr. Mills et al. sang": "a dot ex em ell file , off on , "
    "seventy seven ninth street north , father mills et al sang",
}


@pytest.mark.parametrize("text", SAID)
def test_normalise(text):
    assert " ".join(normalise(text)) == SAID[text]


@pytest.mark.parametrize("text", ["", "   ", "!!!", "你好", "\u0000", "🙂"])
def test_nothing_to_say_is_a_clear_error(text):
    assert not can_say(text)
    with pytest.raises(UserError, match="nothing to say"):
        normalise(text)


def test_letters_that_cannot_be_spoken_are_told():
    with pytest.warns(Notice, match="Анна"):
        assert normalise("Hello Анна, café?") == ["hello", ",", "cafe", "?"]
    with pytest.raises(UserError, match="only Latin letters"):
        normalise("Привет")


@pytest.mark.parametrize(
    "text", ["99:99", "1/0", "13/45/2020", "2024-99-99", "$.5", "9" * 400, "a" * 5000, "1.2.3.4",
             "--", "٣ cats", "x" * 40, "0/0/0000", "25:00", "1e5", "½", "Ⅷ and ①", "🙂 hello"]
)
def test_odd_text_does_not_break(text):
    if can_say(text):
        words = normalise(text)
        assert words[0] not in ",.?!"
        assert all(re.fullmatch(r"[a-z']+|[,.?!]", word) for word in words)


def test_words_without_anything_to_expand_stay():
    text = "the quick brown fox, it's said, jumps over the lazy dog."
    assert normalise(text) == re.findall(r"[a-z']+|[,.]", text)


@pytest.mark.parametrize(("numeral", "value"), [("XIV", 14), ("LVIII", 58), ("IIII", None), ("", None)])
def test_roman(numeral, value):
    assert roman(numeral) == value


def test_numbers():
    assert number("0042") == "zero zero four two" and number("10000000000") == "ten billion"
    assert number("5550123456").startswith("five five five zero")  # ten digits are a code
    assert year("1905") == "nineteen oh five" and year("1900") == "nineteen hundred"
