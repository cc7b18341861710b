"""Word lists from which the synthetic JSON, SQL and instructions are written.

Short on purpose: a model of four million parameters should learn the *shapes* of names, places and units, not a
gazetteer. Generic words for invented property names come from Python's own help topics, so that keys must be copied
from the schema instead of being recalled.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache


def _list(text: str) -> list[str]:
    return text.split()


FIRST = _list("""
Anna Ben Clara David Elena Felix Grace Hugo Ines Jonas Katja Liam Maria Noah Olivia Pablo Quinn Rosa Samuel Tara
Umar Vera Walter Xenia Yusuf Zoë José Chloé Søren Łukasz Björn Aiko Wei Priya Omar Fatima Ivan Nadia Kofi Amara
Lucía Renée Alice Bob Carol Daniel Emma Frank Hannah Isaac Julia Kevin Laura Michael Nina Oscar Paula Robert Sofia
Thomas Victor
""")
LAST = _list("""
Smith Meyer Garcia Rossi Novak Tanaka Chen Kumar Okafor Silva Müller Dubois Jensen Kowalski Johansson Ivanova Ali
Haddad Brown Wilson Taylor Martin Clark Lewis Walker Young King Wright Scott Green Baker Adams Nelson Hill Rivera
Campbell Mitchell Núñez Öztürk Nguyen Park Yamamoto Mensah Costa Moreau Fischer Weber Schmidt Romano
""")
CITIES = _list("""
Berlin Paris London Madrid Rome Oslo Vienna Zürich Lisbon Dublin Prague Warsaw Athens Helsinki Boston Chicago
Seattle Toronto Montréal Denver Austin Mumbai Delhi Tokyo Osaka Seoul Sydney Lagos Nairobi Cairo Lima Bogotá
Santiago Singapore
""")
COUNTRIES = _list("""
Germany France Spain Italy Norway Austria Portugal Ireland Poland Greece Finland Canada India Japan Australia
Nigeria Kenya Egypt Peru Colombia Chile Brazil Mexico Sweden Denmark Switzerland
""")
COUNTRY_CODES = _list("DE FR ES IT NO AT PT IE PL GR FI CA IN JP AU NG KE EG PE CO CL BR MX SE DK CH US GB")
STREETS = _list("""
Main High Park Oak Maple Cedar Lake Hill Church Mill River Station School Garden Market Bridge King Queen
""")
STREET_KINDS = ["Street", "Avenue", "Road", "Lane", "Square", "Drive"]
DOMAINS = _list("example.com example.org example.net mail.example.com shop.example.org test.io acme.com data.dev")
COLORS = _list("red green blue yellow black white orange purple grey pink brown cyan")
CURRENCIES = _list("EUR USD GBP JPY CHF SEK INR BRL CAD AUD")
LANGUAGES = _list("en de fr es it pt nl sv pl ja zh ko ar hi")
TIMEZONES = _list("UTC Europe/Berlin Europe/Paris America/New_York Asia/Tokyo Africa/Lagos Australia/Sydney")
PRODUCTS = _list("""
laptop phone chair table lamp keyboard monitor camera printer backpack bottle jacket shoes watch bicycle headphones
notebook pencil mug desk tablet speaker charger cable blanket pillow kettle toaster vacuum drill hammer ladder
""")
ADJECTIVES = _list("""
small large red wireless portable wooden modern classic light heavy premium compact soft smart folding steel
""")
TAGS = _list("""
news sport music travel food health science art history code python data web cloud design garden kids books games
film urgent new sale draft beta internal public archive local remote fast stable eco vegan
""")
COMPANIES = _list("Acme Globex Initech Umbrella Northwind Contoso Fabrikam Hooli Stark Wayne Vandelay Soylent")
COMPANY_KINDS = ["Inc.", "Ltd", "GmbH", "Corp", "LLC", "AG", "Labs", "Group"]
JOBS = _list("""
engineer teacher nurse designer analyst manager developer writer chef pilot lawyer doctor clerk driver farmer
""")
NOUNS = _list("""
report meeting order system user file server message account project team result value page event market house river
garden story question answer price table network image service request update plan design problem change
""")
VERBS = _list("""
shows checks sends keeps moves finds opens needs writes reads helps changes starts stops builds follows covers
""")
STATUS_SETS: list[list[str]] = [
    ["active", "inactive"], ["pending", "active", "closed"], ["open", "in_progress", "done"], ["low", "medium", "high"],
    ["draft", "published", "archived"], ["new", "paid", "shipped", "delivered", "cancelled"],
    ["admin", "editor", "viewer"], ["small", "medium", "large"], ["info", "warning", "error"], ["success", "failure"],
    ["credit_card", "paypal", "transfer"], ["monday", "tuesday", "wednesday", "thursday", "friday"],
    ["celsius", "fahrenheit"], ["GET", "POST", "PUT", "DELETE"], ["km", "mi"], ["cat", "dog", "bird", "fish"],
    ["asc", "desc"], ["free", "basic", "pro"], ["A", "B", "C"],
]  # fmt: skip
ENTITIES = _list("""
user customer order product event booking invoice article review employee device sensor vehicle recipe movie book
payment shipment ticket message account profile task project repository server weather location flight hotel course
student patient contact company store configuration session
""")


@cache
def generic() -> tuple[str, ...]:
    """The 1,000 commonest lower-case words of 3–10 letters in Python's help topics: stable for one Python version."""
    from pydoc_data import topics

    text = " ".join(topics.topics[name] for name in sorted(topics.topics))
    counts = Counter(re.findall(r"\b[a-z]{3,10}\b", text))
    return tuple(sorted(counts, key=lambda word: (-counts[word], word))[:1000])
