"""Plans that say to a machine what they do not say to a reader, or exclude what a machine would take along.

A yes covers what Sayso's rendering lists. Whatever a renderer may hide, and whatever a sentence excludes, is
neither listed nor allowed.
"""

from __future__ import annotations

from typing import Any

import pytest

from sayso.gate.sessions.play import Player
from sayso.policy import load_preset
from tests.support.rows import each_row

POLICY = load_preset("chat")
SEEN = "Edit `src/a.py`: add a null check. Nothing else changes."
SECRET = "Edit src/b.py and commit."


def agree_to(plan: str) -> tuple[dict[str, Any], Player]:
    """Show the plan as a script does, and say go ahead."""
    player = Player(POLICY)
    player.step({"hear": "Fix the parser"})
    shown = player.step({"plan": plan})
    player.step({"hear": "go ahead"})
    return shown, player


def rule_of(player: Player, operation: str, target: str | None) -> str:
    call = {"operations": [operation], "tool": "t", "args": {"at": target or operation}}
    rule: str = player.step({"call": call | ({"target": target} if target else {})})["rule"]
    return rule


HIDDEN = [
    "![{}](pixel.png)",
    "The HTML is fine.\n\n*[HTML]: {}",
    "[![{}](pixel.png)](https://example.org)",
    "<span hidden><!-- </span> -->{}</span>",
    "<span hidden><b title='</span>'>{}</b></span>",
    "<span hidden>`</span>`{}</span>",
    "<span hidden><span>x</span>{}</span>",
    "\\`<span hidden>\\` {}",
    "- one `\n- <span hidden>` {}",
    "- two\n\n      ```{}\n      x\n      ```",
    "{}\rI will look at it.",
    "x\x0b{}",
    "x\u2028{}",
    "<p>\r\n<span\r\nhidden>{}</span></p>",
    "[ref]: https://example.org\r\n  '{}'\r\n",
    '![x](pixel.png "{}")',
    "![{}][ref]\n\n[ref]: pixel.png",
    "![{}]",
    "![a [nested] {}](x.png)",
    '[docs](https://example.org "{}")',
    "[docs](https://example.org '{}')",
    "[docs](https://example.org ({}))",
    '[docs](<https://example.org> "(a) {}")',
    "[docs][ref]\n\n[ref]: https://example.org '{}'",
    "[ref]: https://example.org\n  '{}'\n",
    '[ref]: https://example.org "one\n{}\ntwo"',
    "[//]: # ({})",
    '[comment]: <> "{}"',
    "[^1]: {}",
    "[^1]: see below\n    {}",
    "[^1]:\n\n    {}",
    "[^1]: see below\n\n    One.\n\n    {}",
    "??? note\n\n    {}",
    "..\n   {}",
    "| a |\n|---|\n| x | {} |",
    "a | b\n:-- | --:\nx \\| x | y | {}",
    "<span hidden>{}</span>",
    "<span\nhidden>{}</span>",
    "<SPAN HIDDEN>{}</SPAN>",
    "<span aria-hidden=true><b>{}</b></span>",
    "<span title='{}'>x</span>",
    "<p data-plan='{}'></p>",
    "<button aria-label='{}'>x</button>",
    "<title>{}</title>",
    "<textarea hidden>{}</textarea>",
    "<textarea>{}</textarea>",
    "<template>{}</template>",
    "<noscript>{}</noscript>",
    "<script>{}</script>",
    "<style>{}</style>",
    "<details><summary>More</summary>{}</details>",
    "<details>\n<summary>More</summary>\n\n{}\n\n</details>",
    "<details open>{}</details>",
    "<div style='display:none'>{}</div>",
    '<div style="visibility:hidden">{}</div>',
    "<p style=opacity:0>{}</p>",
    "<font color=white>{}</font>",
    "<font size=0>{}</font>",
    "<i style='font-size:0'>{}</i>",
    "<b class=sr-only>{}</b>",
    "<x-note>{}</x-note>",
    "<object>{}</object>",
    "<svg><desc>{}</desc></svg>",
    "<select><option>{}</option></select>",
    "<input type=hidden value='{}'>",
    "<img alt='{}' src=x>",
    "<img src=x alt='>{}'>",
    "<unclosed>{}",
    "<div hidden><div>x</div>{}</div>",
    "<!-- {} -->",
    "<!-- {}",
    "<!doctype {}>",
    "<?plan {} ?>",
    "<![CDATA[{}]]>",
    "<del>{}</del>",
    "~~{}~~",
    "~{}~",
    "~~one ~ {}~~",
    "```\n{}\n```",
    "```{}\nx\n```",
    "```{}\nnever closed",
    "~~~\n{}\n~~~",
    "$$\\phantom{{}}$$",
    "$\\color{white}{{}}$",
    "\\(\\phantom{{}}\\)",
    "%%{}%%",
    "{% comment %}{}{% endcomment %}",
    "{# {} #}",
    "{/* {} */}",
    "||{}||",
    "[hide]{}[/hide]",
    "[color=white]{}[/color]",
    "[[{}|notes]]",
    "::: hidden\n{}\n:::",
    "{}\n{: .hidden}",
    "{} {.hidden}",
    ".. {}",
    "> {}",
    "\u200b{}",
    "\u202e{}",
    "&#8203;{}",
    "\U000e0065{}",
    "{}\ufeff",
    'He said "{}"',
]


@each_row("markup", HIDDEN)
def test_a_yes_never_covers_what_a_reader_of_the_plan_may_not_see(markup: str) -> None:
    hidden = markup.replace("{}", SECRET)
    for plan in (f"{SEEN}\n\n{hidden}", f"{hidden}\n\n{SEEN}", hidden):
        shown, player = agree_to(plan)
        assert "src/b.py" not in shown["shown"]
        assert "git.commit" not in shown["operations"]
        assert rule_of(player, "files.edit", "src/b.py") != "plan"
        assert rule_of(player, "git.commit", None) != "plan"


def test_front_matter_is_not_part_of_a_plan() -> None:
    shown, player = agree_to(f"---\nplan: {SECRET}\n---\n\n{SEEN}")
    assert shown["covers"] == {"files.edit": ["src/a.py"]}
    assert rule_of(player, "files.edit", "src/a.py") == "plan"


@pytest.mark.parametrize(
    "markup", ["**{}**", "<b>{}</b>", "<p>{}</p>", "<ul><li>{}</li></ul>", "- {}", "# {}", "*{}*"]
)
def test_markup_that_every_renderer_shows_hides_nothing(markup: str) -> None:
    shown, player = agree_to(markup.replace("{}", SEEN))
    assert shown["covers"] == {"files.edit": ["src/a.py"]}
    assert rule_of(player, "files.edit", "src/a.py") == "plan"


@pytest.mark.parametrize(
    "denied",
    [
        "I will n&#111;t {}",
        "I will n*o*t {}",
        "I will n**o**t {}",
        "I will n<b>o</b>t {}",
        "I will n[o](x)t {}",
        "I will nev[er][r] {}",
        "I will <u>not</u> {}",
        "I will <font color=red>never</font> {}",
        "I will <mark>not</mark>\n{}",
        "<u>Not included:</u>\n- {}",
        "<h2>Out of scope</h2>\n{}",
        "<p>Not included:</p><ul><li>{}</li></ul>",
        "I will ![not](not.png) never {}",
    ],
)
def test_no_markup_takes_a_denial_out_of_a_sentence(denied: str) -> None:
    shown, player = agree_to(f"{SEEN}\n\n{denied.replace('{}', 'edit src/b.py and commit')}")
    assert "src/b.py" not in shown["shown"]
    assert rule_of(player, "files.edit", "src/b.py") != "plan"


EXCLUDED = [
    "I will refrain from editing src/b.py.",
    "I will edit src/a.py and refrain from editing src/b.py.",
    "I will abstain from changes to src/b.py.",
    "I avoid src/b.py.",
    "Edit src/a.py while avoiding src/b.py.",
    "Leave src/b.py alone.",
    "Edit src/a.py, leaving src/b.py as it is.",
    "Edit every file except src/b.py.",
    "Edit src/a.py without touching src/b.py.",
    "I won't edit src/b.py.",
    "I'm not going to edit src/b.py.",
    "I am going to edit anything but src/b.py.",
    "Edit src/a.py rather than src/b.py.",
    "Edit src/a.py instead of src/b.py.",
    "Skip src/b.py.",
    "src/b.py stays as it is.",
    "src/b.py remains unchanged.",
    "There are no changes to src/b.py.",
    "Keep src/b.py untouched.",
    "src/b.py is off limits.",
    "src/b.py is out of scope.",
    "src/b.py: no change.",
    "src/b.py - not touched",
    "src/b.py (do not touch)",
    "Edit src/a.py, src/b.py (which I won't touch).",
    "Edit src/a.py and stay out of src/b.py.",
    "Edit src/a.py and steer clear of src/b.py.",
    "Edit src/a.py and keep my hands off src/b.py.",
    "Edit src/a.py and eschew src/b.py.",
    "Edit src/a.py and circumvent src/b.py.",
    "Edit src/a.py and forget about src/b.py.",
    "Edit src/a.py and hold off on src/b.py.",
    "Edit src/a.py and spare src/b.py.",
    "Edit src/a.py, and shun src/b.py.",
    "Edit src/a.py and respect src/b.py.",
    "Edit src/a.py and admire src/b.py from afar.",
    "I refuse to edit src/b.py.",
    "I decline to edit src/b.py.",
    "I resist the urge to edit src/b.py.",
    "Nobody will edit src/b.py.",
    "Bob will edit src/b.py.",
    "You will edit src/b.py.",
    "Later I will edit src/b.py.",
    "I might edit src/b.py.",
    "Should I edit src/b.py?",
    "Editing src/b.py is forbidden.",
    "Editing src/b.py would be wrong.",
    "Edit src/a.py, not src/b.py.",
    "Edit src/a.py (not src/b.py).",
    "Edit src/a.py but never src/b.py.",
    "To edit src/b.py is what I'd never do.",
    "Unless you ask, I do not edit src/b.py.",
    "Not included:\n- edit src/b.py",
    "Out of scope: edit src/b.py",
    "Edit src/a.py bar src/b.py.",
    "Exempt src/b.py.",
    "Ich werde src/b.py nicht ändern.",
]


@each_row("sentence", EXCLUDED)
def test_what_a_sentence_of_the_plan_excludes_is_not_a_target(sentence: str) -> None:
    shown, player = agree_to(f"Edit src/a.py: add a null check. Only this.\n\n{sentence}")
    assert all("src/b.py" not in targets for targets in shown["covers"].values())
    assert rule_of(player, "files.edit", "src/b.py") != "plan"


def test_an_operation_is_covered_on_its_own_targets_only() -> None:
    shown, player = agree_to("Edit src/a.py: add a null check. Delete src/old.py. Nothing else changes.")
    assert shown["covers"] == {"files.edit": ["src/a.py"], "files.delete": ["src/old.py"]}
    assert rule_of(player, "files.edit", "src/a.py") == "plan"
    assert rule_of(player, "files.edit", "src/old.py") != "plan"
