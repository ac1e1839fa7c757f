"""client.py: sends a cycle every five minutes, and stores each response. Queue and spool are one SQLite file.
Needs Python 3.8, SQLite 3.15 with JSON (sqlite3.sqlite_version) and requests, or later versions."""
import calendar, gzip, json, os, random, re, sqlite3, sys, time
from urllib.parse import quote
try: import requests
except ImportError: sys.exit("client.py needs the package requests: pip install requests")

if missing := [name for name in ("SCORING_URL", "SCORING_KEY") if not os.environ.get(name)]:
    sys.exit(f"client.py needs {' and '.join(missing)} in the environment")
url, api_key = os.environ["SCORING_URL"].rstrip("/"), os.environ["SCORING_KEY"]
db = sqlite3.connect(os.environ.get("QUEUE_FILE", "queue.sqlite"), timeout=10)  # For the crawler, which writes too.
# candidate, reading, snapshot, removal: rows of the contract, as JSON. sent_in, removed_in: the cycles that have them.
db.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS posts (gall_id TEXT, post_no INTEGER, candidate, reading, snapshot, removal, sent_in, removed_in,
    problem, PRIMARY KEY (gall_id, post_no));
  CREATE TABLE IF NOT EXISTS images (gall_id TEXT, post_no INTEGER, position INTEGER, jpeg, sent, problem,
    PRIMARY KEY (gall_id, post_no, position));
  CREATE TABLE IF NOT EXISTS cycles (cycle_id PRIMARY KEY, body, response, problem)""")
refusals = ("bad_request", "conflict", "too_large", "unsupported_media_type", "unprocessable")
limits = {"candidates": 1000}  # Halved when a cycle is too large.

def authorize(request):
    """Without this, requests would send the password that ~/.netrc has for the host."""
    request.headers["Authorization"] = api_key
    return request

def send(method, path, body, headers):
    """Sends the same bytes for up to four minutes, as long as the service is busy or cannot be reached."""
    give_up_at, wait_s = time.monotonic() + 240, 0.2
    while True:
        pause_s, wait_s = random.uniform(0, wait_s), min(2 * wait_s, 10)
        try:
            reply = requests.request(  # A redirect would turn POST into GET.
                method, url + path, data=body, headers=headers, auth=authorize, allow_redirects=False, timeout=(5, 60))
            retry_after = reply.headers.get("Retry-After", "")
            if retry_after.isdigit(): pause_s = max(pause_s, int(retry_after))
            # A 422 has one if the cycle is only in the future.
            is_early = reply.status_code == 422 and retry_after.isdigit() and time.monotonic() + pause_s <= give_up_at
            if reply.status_code not in (408, 429, 502, 503, 504) and not is_early: return reply
            failure = OSError(f"{path}: {reply.status_code}")
        except requests.RequestException as error: failure = error
        if time.monotonic() + pause_s > give_up_at: raise failure
        time.sleep(pause_s)

def result_of(reply, age_s=0):
    """(answer, None), or (None, error) if the service refuses these bytes for good. Raises HTTPError if it may accept them later,
    and OSError if something is wrong that concerns others too."""
    is_future = False
    try:
        answer = reply.json()
        if reply.ok and ("results" in answer or "key" in answer): return reply.text, None
        error = {"message": "", "fields": [], **answer["error"]}
        is_future = [field["problem"] for field in error["fields"]] == ["must not be in the future"]
        # A cycle that is in the future for a day, or of a clock that was wrong by a day, is given up.
        if error["code"] in refusals and (not is_future or abs(age_s) > 24 * 3600): return None, json.dumps(error)
    except (ValueError, KeyError, TypeError): pass  # A response of a proxy.
    text = reply.headers.get("Location") or reply.text[:300]
    raise (requests.HTTPError if is_future or reply.status_code == 500 else OSError)(f"{reply.url}: {reply.status_code} {text}")

def write_cycle(due):
    """Marks and stores what changed since the last cycle, with the newest reading and snapshot of each pending post."""
    cycle = {"cycle_id": time.strftime("%Y%m%dT%H%M", time.gmtime(due + 9 * 3600)),  # The time in Korea.
             "cycle_time": time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(due))}
    # The clock was set back, and this cycle has been written.
    if db.execute("SELECT 1 FROM cycles WHERE cycle_id = ?", (cycle["cycle_id"],)).fetchone(): return
    def mark(column, where, count):
        rows = f"SELECT rowid FROM posts WHERE problem IS NULL AND {column} IS NULL AND {where} ORDER BY rowid LIMIT ?"
        db.execute(f"UPDATE posts SET {column} = ? WHERE rowid IN ({rows})", (cycle["cycle_id"], count))
    def rows(column, where, value):
        found = db.execute(f"SELECT {column} FROM posts WHERE problem IS NULL AND {where}", (value,))
        return [json.loads(text) for (text,) in found]
    pending = "removal IS NULL AND sent_in NOTNULL ORDER BY rowid DESC LIMIT 5000"
    not_later = "julianday(json_extract({}, '$.{}')) <= julianday(?) AND " + pending
    with db:  # One transaction.
        mark("sent_in", "removal IS NULL", limits["candidates"])
        mark("removed_in", "removal NOTNULL AND sent_in NOTNULL", 5000)
        cycle["candidates"] = rows("candidate", "sent_in = ? ORDER BY rowid", cycle["cycle_id"])
        cycle["removals"] = rows("removal", "removed_in = ?", cycle["cycle_id"])
        cycle["engagement"] = rows("reading", not_later.format("reading", "observed_at"), cycle["cycle_time"])
        cycle["candidate_scores"] = rows("snapshot", not_later.format("snapshot", "snapshot_at"), cycle["cycle_time"])
        db.execute("INSERT INTO cycles VALUES (?, ?, NULL, NULL)", (cycle["cycle_id"], gzip.compress(json.dumps(cycle).encode())))

def take_back(cycle, error):
    """The rows that the service names are set aside; all others are in the next cycles."""
    if error["code"] == "too_large":
        limits["candidates"] = max(1, len(cycle["candidates"]) // 2)
        if len(cycle["candidates"]) == 1: error["fields"] = [{"path": "candidates[0]", "problem": error["message"]}]
    for field in error["fields"]:
        if (match := re.match(r"(\w+)\[(\d+)\]", field["path"])) and error["code"] != "conflict":
            row = cycle[match[1]][int(match[2])]
            # A reading or snapshot is replaced by the next one. A post waits until somebody has looked at its problem.
            column = {"engagement": "reading", "candidate_scores": "snapshot"}.get(match[1], "problem")
            value = f"{field['path']} {field['problem']}" if column == "problem" else None
            db.execute(f"UPDATE posts SET {column} = ? WHERE (gall_id, post_no) = (?, ?)", (value, row["gall_id"], row["post_no"]))
    db.execute("UPDATE posts SET sent_in = nullif(sent_in, ?1), removed_in = nullif(removed_in, ?1)", (cycle["cycle_id"],))

def deliver():
    """Sends the stored cycles, oldest first, then the images. What cannot be sent now stays."""
    for cycle_id, body in db.execute("SELECT cycle_id, body FROM cycles WHERE body NOTNULL ORDER BY 1").fetchall():
        age_s = time.time() - calendar.timegm(time.strptime(cycle_id, "%Y%m%dT%H%M")) + 9 * 3600
        try: response, error = result_of(send("POST", "/v1/cycles", body, {"Content-Encoding": "gzip"}), age_s)
        except requests.HTTPError as failure: print(cycle_id, failure, flush=True)
        else:
            with db:
                if error: take_back(json.loads(gzip.decompress(body)), json.loads(error))
                else: limits["candidates"] = min(1000, 2 * limits["candidates"])
                db.execute("UPDATE cycles SET body = NULL, response = ?, problem = ? WHERE cycle_id = ?", (response, error, cycle_id))
    for *key, jpeg in db.execute("SELECT gall_id, post_no, position, jpeg FROM images WHERE sent IS NULL").fetchall():
        path = f"/v1/images/{quote(key[0], safe='')}/{key[1]}/{key[2]:02}"
        problem = result_of(send("PUT", path, jpeg, {"Content-Type": "image/jpeg"}))[1]
        with db: db.execute("UPDATE images SET sent = 1, problem = ? WHERE (gall_id, post_no, position) = (?, ?, ?)", (problem, *key))

due = 0
while True:
    boundary = -(-time.time() // 300) * 300
    following = due + 300 if boundary == due else boundary
    time.sleep(min(1, max(0, following - time.time())))  # Not longer: the clock may be set meanwhile.
    if time.time() < following: continue
    due = following
    for step in (lambda: write_cycle(due), deliver):
        try: step()
        except (OSError, sqlite3.Error) as error: print(error, flush=True)
