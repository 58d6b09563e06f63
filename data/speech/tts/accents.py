"""English by people whom festival knows in other languages: its diphones, put together by English sounds.

kal's half of festival says which sounds follow one another, for how long and how high; another voice's
diphones are joined instead of his. So the audio encoder meets nine more people, with the accents
of their languages, where Debian has two English ones that may be used. Nothing of the voices' own
programs is run.

Tables say by which sounds of the other language an English one (festival's "radio" set) is said, written
"english=other"; "a+u" is two of them, each for half of the time. Where a voice lacks a pair of sounds,
one of the pair is said as its stand-in: before the slash those of the first, behind it of the second.
"""

from dataclasses import dataclass
from functools import cached_property

ENGLISH = tuple(
    "aa ae ah ao aw ax ay b ch d dh dx eh el em en er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th "
    "uh uw v w y z zh pau".split()
)
HINDI = """ae=eh ah=a ao=oh ax=a d=D dx=D el=a+l em=a+m en=a+n er=a+r ey=ee hh=h jh=j ng=n+g ow=oo oy=oh+ih
t=T w=uh z=s zh=sh"""
CZECH = """aa=a: ae=e ah=a ao=o: aw=a+u ax=e ay=a+j ch=c~ dh=d dx=d eh=e el=e+l em=e+m en=e+n er=e+r ey=e+j
hh=h ih=i iy=i: jh=dz~ ng=n+g ow=o+u oy=o+j pau=# sh=s~ th=t uh=u uw=u: w=u y=j zh=z~"""
CZECH_PAIRS = """t=t~ d=d~ n=n~ a:=a i:=i u:=u o:=o b=p g=k z=s v=f z~=s~ dz~=c~
/ k=g p=b s=z t=d f=v s~=z~ c~=dz~ a:=a i:=i u:=u o:=o z=s d=t b=p"""
FINNISH = """aa=a ae=@ ah=a ao=o: aw=a+u ax=7 ay=a+i ch=t+S dh=d dx=d eh=e el=7+l em=7+m en=7+n er=7+r ey=e+i
hh=h ih=i iy=i: jh=d+S ng=N ow=o+u oy=o+i pau=# sh=S th=T uh=u uw=u: y=j z=s zh=S"""
FINNISH_PAIRS = """i:=i u:=u o:=o T=t w=u d=t b=p g=k f=v N=n j=i
/ i:=i u:=u o:=o 7=7: j=i w=u S=s T=t N=n s=t g=k"""
FINNISH_SIMPLER = " ch=t+s jh=t+s ng=n sh=s th=t w=u y=i zh=s"  # the lady has fewer sounds
ITALIAN = """aa=a1 ae=E ah=a ao=O1 aw=a+u ax=e ay=a+i ch=tS dh=d dx=d eh=E1 el=e+l em=e+m en=e+n er=E+r
ey=e1+i hh=# ih=i iy=i1 jh=dZ ng=n+g ow=o1+u oy=O+i pau=# sh=S th=t uh=u uw=u1 w=u y=i zh=dZ"""
ITALIAN_PAIRS = """E=e E1=E O=o O1=O a1=a i1=i u1=u o1=o e1=e S=s
/ E=e E1=E O=o O1=O a1=a i1=i u1=u o1=o e1=e"""


def table(text: str) -> dict[str, list[str]]:
    """ "a=b c=d+e" -> {"a": ["b"], "c": ["d", "e"]}"""
    return {left: right.split("+") for left, right in (pair.split("=") for pair in text.split())}


@dataclass(frozen=True)
class Accent:
    """A voice of another language: its diphones, and how it says English."""

    group: str  # diphones, under festival's folder of voices
    package: str  # Debian's
    sounds: str
    pairs: str = "/"
    silence: str = "#"

    @cached_property
    def says(self) -> dict[str, list[str]]:
        """English sound -> one or two of this voice."""
        return {sound: [sound] for sound in ENGLISH} | table(self.sounds)

    @cached_property
    def stand_ins(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """For the first and for the second of a pair that is missing."""
        first, second = self.pairs.split("/")
        return table(first), table(second)

    def program(self, root: str) -> str:
        """Scheme for festival that puts these diphones in place of kal's, who must be the voice by now."""
        says = " ".join(f"({sound} {' '.join(others)})" for sound, others in self.says.items())
        first, second = (
            " ".join(f"({sound} {other[0]})" for sound, other in each.items()) for each in self.stand_ins
        )
        return f"""
(us_diphone_init '((name "muomni") (index_file "{root}/{self.group}") (grouped "true")
  (alternates_left ({first})) (alternates_right ({second}))
  (default_diphone "{self.silence}-{self.silence}")))
(set! muomni_says '({says}))
(define (muomni_say utt)
  (mapcar
    (lambda (segment)
      (let ((said (cdr (assoc_string (item.name segment) muomni_says)))
            (start (item.feat segment 'segment_start)) (end (item.feat segment 'end)))
        (item.set_name segment (car said))
        (if (cdr said)
          (let ((rest (item.insert segment (list (cadr said)) 'after)))
            (item.set_feat segment 'end (/ (+ start end) 2))
            (item.set_feat rest 'end end)))))
    (utt.relation.items utt 'Segment))
  utt)
(set! UniSyn_module_hooks (list muomni_say))
(set! after_synth_hooks (lambda (utt) (utt.wave.rescale utt 0.9 t)))
(us_db_select "muomni")
"""


ACCENTS = {
    "NSK_diphone": Accent(
        "hindi/hindi_NSK_diphone/group/NSKlpc.group", "festvox-hi-nsk", HINDI, silence="pau"
    ),
    "czech_ph": Accent("czech/czech_ph/group/ph.group", "festvox-czech-ph", CZECH, CZECH_PAIRS),
    "czech_dita": Accent("czech/czech_dita/group/dita.group", "festvox-czech-dita", CZECH, CZECH_PAIRS),
    "czech_krb": Accent("czech/czech_krb/group/krb.group", "festvox-czech-krb", CZECH, CZECH_PAIRS),
    "czech_machac": Accent(
        "czech/czech_machac/group/machac.group", "festvox-czech-machac", CZECH, CZECH_PAIRS
    ),
    "mv_diphone": Accent(
        "finnish/hy_fi_mv_diphone/group/mvlpc.group", "festvox-suopuhe-mv", FINNISH, FINNISH_PAIRS
    ),
    "lj_diphone": Accent(
        "finnish/suo_fi_lj_diphone/group/ljlpc.group", "festvox-suopuhe-lj", FINNISH + FINNISH_SIMPLER,
        FINNISH_PAIRS,
    ),
    "lp_diphone": Accent(
        "italian/lp_diphone/group/lp_diphone.group", "festvox-italp16k", ITALIAN, ITALIAN_PAIRS
    ),
    "pc_diphone": Accent(
        "italian/pc_diphone/group/pc_diphone.group", "festvox-itapc16k", ITALIAN, ITALIAN_PAIRS
    ),
}
