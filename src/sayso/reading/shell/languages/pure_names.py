"""Names of Python and JavaScript that compute and do nothing else. All others are unknown."""

from __future__ import annotations

import builtins


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Kinds of nodes of a syntax tree.
PYTHON_NODES = _words(
    """
    Add And AnnAssign Assert Assign Attribute AugAssign BinOp BitAnd BitOr BitXor BoolOp Break Call
    Compare Constant Continue Dict DictComp Div Eq ExceptHandler Expr Expression FloorDiv For
    FormattedValue FunctionDef GeneratorExp Gt GtE If IfExp Import ImportFrom In Invert Is IsNot JoinedStr
    LShift Lambda List ListComp Load Lt LtE MatMult Mod Module Mult Name NamedExpr Not NotEq NotIn Or Pass
    Pow RShift Raise Return Set SetComp Slice Starred Store Sub Subscript Try Tuple UAdd USub UnaryOp
    While Yield YieldFrom alias arg arguments comprehension keyword
    """
)
PYTHON_BUILTINS = _words(
    """
    ArithmeticError AssertionError AttributeError EOFError Ellipsis Exception IndexError KeyError
    KeyboardInterrupt LookupError NameError NotImplemented NotImplementedError OverflowError
    RecursionError RuntimeError StopIteration SystemExit TypeError UnicodeDecodeError UnicodeEncodeError
    UnicodeError ValueError ZeroDivisionError __name__ abs all any ascii bin bool bytearray bytes callable
    chr complex dict divmod enumerate exit filter float format frozenset hash hex id int isinstance
    issubclass iter len list map max min next object oct ord pow print quit range repr reversed round set
    slice sorted str sum tuple zip
    """
)
# Names that no text may bind: elsewhere in it the same name would mean these. Some are those of Python 2.
PYTHON_RESERVED = frozenset(dir(builtins)) | _words(
    "apply buffer copyright credits execfile exit file help intern license quit raw_input reload unicode"
)
# Members that are harmless whatever value in reach is asked for them.
PYTHON_ATTRIBUTES = _words(
    """
    add append appendleft as_integer_ratio as_tuple astimezone bit_count bit_length broadcast_address
    buffer capitalize casefold center clear combine conjugate copy count ctime date day days decode
    denominator difference difference_update digest discard elements encode end endswith expandtabs
    exploded extend extendleft find findall finditer flush fragment from_bytes fromhex fromisoformat
    fromkeys fromordinal fromtimestamp fullmatch get getvalue group groupdict groups hex hexdigest
    hostname hosts hour imag index insert int intersection intersection_update is_global is_integer
    is_loopback is_private isalnum isalpha isascii isatty isdecimal isdigit isdisjoint isidentifier
    islower isnumeric isocalendar isoformat isoweekday isspace issubset issuperset istitle isupper items
    join keys lastgroup limit_denominator ljust lower lstrip major maketrans match mean micro microsecond
    minor minute month most_common move_to_end netloc network_address now num_addresses numerator params
    partition password path pop popitem popleft port prefixlen quantize query ratio read readline
    readlines real remove removeprefix removesuffix replace resolution reverse rfind rindex rjust rotate
    rpartition rsplit rstrip scheme search second seconds setdefault sort span split splitlines start
    startswith stdev strftime strip strptime sub subnets subtract supernet swapcase symmetric_difference
    timestamp timetuple title to_bytes to_integral_value today total total_seconds translate tzinfo union
    update upper username utc utcfromtimestamp utcnow utcoffset values version weekday write writeheader
    writelines writerow writerows year zfill
    """
)
# A Python imports these unasked: to print an error, to convert a long number, to see where it runs.
PYTHON_UNNAMED = _words(
    """
    _android_support _ast_unparse _colorize _hmac _ios_support _opcode_metadata _py_warnings _pydatetime
    _pylong _sha2 _strptime _suggestions _types _wmi annotationlib codeop compression encodings org
    traceback
    """
)
PYTHON_MODULES = {
    name: _words(members)
    for name, members in {
        "__future__": "absolute_import annotations division print_function unicode_literals",
        "ast": "literal_eval",
        "base64": """
            b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode
            standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode
        """,
        "binascii": "a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "calendar": "day_abbr day_name isleap leapdays month month_abbr month_name monthrange timegm weekday",
        "cmath": "cos e exp log phase pi polar rect sin sqrt",
        "collections": "ChainMap Counter OrderedDict defaultdict deque",
        "csv": "DictReader DictWriter reader writer",
        "datetime": "UTC date datetime time timedelta timezone",
        "decimal": "Decimal ROUND_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP",
        "difflib": "SequenceMatcher get_close_matches ndiff unified_diff",
        "fractions": "Fraction",
        "functools": "cache cmp_to_key lru_cache partial reduce",
        "hashlib": "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512",
        "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
        "html": "escape unescape",
        "io": "BytesIO StringIO",
        "ipaddress": "IPv4Address IPv4Network IPv6Address IPv6Network ip_address ip_interface ip_network",
        "itertools": """
            accumulate batched chain combinations combinations_with_replacement compress count cycle
            dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile
            tee zip_longest
        """,
        "json": "JSONDecodeError dump dumps load loads",
        "math": """
            acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees dist e erf erfc
            exp expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf
            isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan perm pi pow prod radians
            remainder sin sinh sqrt tan tanh tau trunc
        """,
        "operator": """
            add and_ concat contains eq floordiv ge gt itemgetter le lt mod mul ne neg or_ sub truediv
            xor
        """,
        "os": "getpid linesep name pathsep sep",
        "os.path": "basename commonprefix dirname isabs join normpath split splitext",
        "random": "choice choices gauss randbytes randint random randrange sample seed shuffle uniform",
        "re": """
            A ASCII DOTALL I IGNORECASE M MULTILINE S VERBOSE X compile error escape findall finditer
            fullmatch match search split sub subn
        """,
        "shlex": "join quote split",
        "statistics": """
            NormalDist correlation covariance fmean geometric_mean harmonic_mean linear_regression mean
            median median_high median_low mode multimode pstdev pvariance quantiles stdev variance
        """,
        "string": """
            ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
            punctuation whitespace
        """,
        "struct": "calcsize iter_unpack pack unpack",
        "sys": """
            argv byteorder executable exit float_info getsizeof hexversion maxsize maxunicode platform
            stderr stdin stdout version version_info
        """,
        "textwrap": "dedent fill indent shorten wrap",
        "time": """
            ctime gmtime localtime mktime monotonic perf_counter sleep strftime strptime time time_ns
            timezone
        """,
        "unicodedata": "category combining east_asian_width lookup name normalize numeric",
        "urllib": "",
        "urllib.parse": """
            parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit
            urlunparse urlunsplit
        """,
        "uuid": "NAMESPACE_DNS NAMESPACE_URL UUID uuid3 uuid4 uuid5",
        "zlib": "adler32 compress crc32 decompress",
    }.items()
}
NODE_VALUES = _words(
    """
    Array BigInt Boolean Date Infinity Map NaN Number Set String URL URLSearchParams atob btoa decodeURI
    decodeURIComponent encodeURI encodeURIComponent escape false isFinite isNaN null parseFloat parseInt
    true undefined unescape
    """
)
# Members of what is no value itself: its other members lead outside.
NODE_PLACES = {
    name: _words(members)
    for name, members in {
        "Buffer": "byteLength from",
        "JSON": "parse stringify",
        "Math": """
            E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2 abs acos acosh asin asinh atan atan2 atanh cbrt
            ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min pow
            random round sign sin sinh sqrt tan tanh trunc
        """,
        "Object": "entries fromEntries is keys values",
        "console": "debug error info log table warn",
        "performance": "now",
        "process": "arch argv argv0 cwd exit hrtime memoryUsage pid platform uptime version versions",
        "process.stdout": "columns isTTY rows write",
    }.items()
}
NODE_METHODS = _words(
    """
    UTC add at charAt charCodeAt codePointAt concat copyWithin delete endsWith entries every exec fill
    filter find findIndex findLast findLastIndex flat flatMap forEach from fromCharCode fromCodePoint
    get getAll getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds
    getTime getTimezoneOffset getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth
    getUTCSeconds has hasOwnProperty includes indexOf isArray isFinite isInteger isNaN isSafeInteger
    join keys lastIndexOf localeCompare map match matchAll normalize now of padEnd padStart parse
    parseFloat parseInt pop push reduce reduceRight repeat replace replaceAll reverse search set setDate
    setDay setFullYear setHours setMinutes setMonth setSeconds setTime shift slice some sort splice
    split startsWith substring substr test toDateString toExponential toFixed toISOString toJSON
    toLocaleDateString toLocaleLowerCase toLocaleString toLocaleTimeString toLocaleUpperCase toLowerCase
    toPrecision toReversed toSorted toSpliced toString toTimeString toUTCString toUpperCase trim trimEnd
    trimStart unshift valueOf values with
    """
)
