"""The countries of ISO 3166 with their codes, and other names that people use for them.

The list is that of the time zone database (``iso3166.tab``), which is in the public domain.
"""

from __future__ import annotations

from collections.abc import Collection

_LISTED = """
    AD Andorra; AE United Arab Emirates; AF Afghanistan; AG Antigua and Barbuda; AI Anguilla; AL Albania; AM
    Armenia; AO Angola; AQ Antarctica; AR Argentina; AS American Samoa; AT Austria; AU Australia; AW Aruba; AX Åland
    Islands; AZ Azerbaijan; BA Bosnia and Herzegovina; BB Barbados; BD Bangladesh; BE Belgium; BF Burkina Faso; BG
    Bulgaria; BH Bahrain; BI Burundi; BJ Benin; BL Saint Barthelemy; BM Bermuda; BN Brunei; BO Bolivia; BQ Caribbean
    NL; BR Brazil; BS Bahamas; BT Bhutan; BV Bouvet Island; BW Botswana; BY Belarus; BZ Belize; CA Canada; CC Cocos
    Islands; CD Democratic Republic of the Congo; CF Central African Rep.; CG Congo; CH Switzerland; CI Côte
    d'Ivoire; CK Cook Islands; CL Chile; CM Cameroon; CN China; CO Colombia; CR Costa Rica; CU Cuba; CV Cape Verde;
    CW Curaçao; CX Christmas Island; CY Cyprus; CZ Czech Republic; DE Germany; DJ Djibouti; DK Denmark; DM Dominica;
    DO Dominican Republic; DZ Algeria; EC Ecuador; EE Estonia; EG Egypt; EH Western Sahara; ER Eritrea; ES Spain; ET
    Ethiopia; FI Finland; FJ Fiji; FK Falkland Islands; FM Micronesia; FO Faroe Islands; FR France; GA Gabon; GB
    United Kingdom; GD Grenada; GE Georgia; GF French Guiana; GG Guernsey; GH Ghana; GI Gibraltar; GL Greenland; GM
    Gambia; GN Guinea; GP Guadeloupe; GQ Equatorial Guinea; GR Greece; GS South Georgia and the South Sandwich
    Islands; GT Guatemala; GU Guam; GW Guinea-Bissau; GY Guyana; HK Hong Kong; HM Heard Island and McDonald Islands;
    HN Honduras; HR Croatia; HT Haiti; HU Hungary; ID Indonesia; IE Ireland; IL Israel; IM Isle of Man; IN India; IO
    British Indian Ocean Territory; IQ Iraq; IR Iran; IS Iceland; IT Italy; JE Jersey; JM Jamaica; JO Jordan; JP
    Japan; KE Kenya; KG Kyrgyzstan; KH Cambodia; KI Kiribati; KM Comoros; KN Saint Kitts and Nevis; KP North Korea;
    KR South Korea; KW Kuwait; KY Cayman Islands; KZ Kazakhstan; LA Laos; LB Lebanon; LC Saint Lucia; LI
    Liechtenstein; LK Sri Lanka; LR Liberia; LS Lesotho; LT Lithuania; LU Luxembourg; LV Latvia; LY Libya; MA
    Morocco; MC Monaco; MD Moldova; ME Montenegro; MF Saint Martin; MG Madagascar; MH Marshall Islands; MK North
    Macedonia; ML Mali; MM Myanmar; MN Mongolia; MO Macau; MP Northern Mariana Islands; MQ Martinique; MR
    Mauritania; MS Montserrat; MT Malta; MU Mauritius; MV Maldives; MW Malawi; MX Mexico; MY Malaysia; MZ
    Mozambique; NA Namibia; NC New Caledonia; NE Niger; NF Norfolk Island; NG Nigeria; NI Nicaragua; NL Netherlands;
    NO Norway; NP Nepal; NR Nauru; NU Niue; NZ New Zealand; OM Oman; PA Panama; PE Peru; PF French Polynesia; PG
    Papua New Guinea; PH Philippines; PK Pakistan; PL Poland; PM Saint Pierre and Miquelon; PN Pitcairn; PR Puerto
    Rico; PS Palestine; PT Portugal; PW Palau; PY Paraguay; QA Qatar; RE Réunion; RO Romania; RS Serbia; RU Russia;
    RW Rwanda; SA Saudi Arabia; SB Solomon Islands; SC Seychelles; SD Sudan; SE Sweden; SG Singapore; SH Saint
    Helena; SI Slovenia; SJ Svalbard and Jan Mayen; SK Slovakia; SL Sierra Leone; SM San Marino; SN Senegal; SO
    Somalia; SR Suriname; SS South Sudan; ST Sao Tome and Principe; SV El Salvador; SX Saint Maarten; SY Syria; SZ
    Eswatini; TC Turks and Caicos Is; TD Chad; TF French S. Terr.; TG Togo; TH Thailand; TJ Tajikistan; TK Tokelau;
    TL East Timor; TM Turkmenistan; TN Tunisia; TO Tonga; TR Turkey; TT Trinidad and Tobago; TV Tuvalu; TW Taiwan;
    TZ Tanzania; UA Ukraine; UG Uganda; UM US minor outlying islands; US United States; UY Uruguay; UZ Uzbekistan;
    VA Vatican City; VC Saint Vincent; VE Venezuela; VG Virgin Islands; VI Virgin Islands; VN Vietnam; VU Vanuatu;
    WF Wallis and Futuna; WS Samoa; YE Yemen; YT Mayotte; ZA South Africa; ZM Zambia; ZW Zimbabwe
"""
CODES = {one[:2]: one[3:] for one in " ".join(_LISTED.split()).split("; ")}
"""The English names of countries by their codes of two letters."""
ALIASES = {
    "united kingdom": ("uk", "great britain", "britain"),
    "united states": ("usa", "america", "united states of america"),
    "united states of america": ("usa", "america", "united states"),
    "usa": ("united states", "america", "united states of america"),
    "uk": ("united kingdom", "great britain", "britain"),
    "united arab emirates": ("uae",),
    "uae": ("united arab emirates",),
    "netherlands": ("holland",),
    "czechia": ("czech republic",),
    "czech republic": ("czechia",),
}
"""Other names of countries by their names in lower case."""
_PARTS = frozenset(("england", "northern ireland", "scotland", "wales"))
_NAMES = (
    {name.casefold() for name in CODES.values()} | {other for names in ALIASES.values() for other in names} | _PARTS
)
_FEWEST = 2


def are_codes(values: Collection[str], words: Collection[str]) -> bool:
    """Return whether all values of a column are codes of countries, and the words of its name say so."""
    is_named = not {"country", "nation", "nationality", "origin"}.isdisjoint(words)
    return is_named and len(values) >= _FEWEST and all(value in CODES or value == "UK" for value in values)


def is_country(name: str) -> bool:
    """Return whether a name, in any case, is that of a country."""
    return name.casefold() in _NAMES


def called(value: str, *, is_code: bool) -> tuple[str, ...]:
    """Return the names, in lower case, of the country that a value is."""
    name = CODES.get(value, "").casefold() if is_code else ""
    return tuple(one for one in (name, *ALIASES.get(name or value.casefold(), ())) if one)
