"""client.py: sends a cycle every five minutes, and stores each response. Queue and spool are one SQLite file."""
import gzip, json, os, random, re, sqlite3, time
from datetime import datetime, timedelta, timezone
from urllib.parse import quote
import requests

db = sqlite3.connect(os.environ.get("QUEUE_FILE", "queue.sqlite"))
# candidate, reading, snapshot, removal: rows of the contract, as JSON. sent_in, removed_in: the cycles that have them.
db.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS posts (gall_id TEXT, post_no INTEGER, candidate, reading, snapshot, removal, sent_in, removed_in,
    problem, PRIMARY KEY (gall_id, post_no));
  CREATE TABLE IF NOT EXISTS images (gall_id TEXT, post_no INTEGER, position INTEGER, jpeg, sent, problem,
    PRIMARY KEY (gall_id, post_no, position));
  CREATE TABLE IF NOT EXISTS cycles (cycle_id PRIMARY KEY, body, response, problem)""")

refusals = {400: "bad_request", 404: "not_found", 409: "conflict", 413: "too_large", 415: "unsupported_media_type",
            422: "unprocessable"}

def send(method, path, body, headers):
    """Sends the same bytes until they are answered: (answer, None), or (None, error) if they are refused for good.
    Raises OSError, on 500 an HTTPError: after four minutes while the service is busy or cannot be reached, else at once."""
    give_up_at, wait_s = time.monotonic() + 240, 0.2
    while True:
        pause_s = random.uniform(0, wait_s)
        try:
            reply = requests.request(method, os.environ["SCORING_URL"] + path, data=body, timeout=(5, 60),
                                     headers={"Authorization": os.environ["SCORING_KEY"], **headers})
            status, is_busy = reply.status_code, reply.status_code in (408, 429, 502, 503, 504)
            failure = (requests.HTTPError if status == 500 else OSError)(f"{method} {path}: {status} {reply.text[:300]}")
            pause_s = max(pause_s, float(reply.headers.get("Retry-After", 0)))
            answer = reply.json()
            if status in (200, 201) and ("results" in answer or "key" in answer): return answer, None
            error = {"status": status, "message": "", "fields": [], **answer["error"]}
            is_future = [field["problem"] for field in error["fields"]] == ["must not be in the future"]  # But later in the past.
            if refusals.get(status) == error["code"] and not is_future: return None, error
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            failure, is_busy = OSError(f"{method} {path}: {error}"), True
        except (ValueError, KeyError, TypeError): pass  # A response of a proxy.
        if not is_busy or time.monotonic() + pause_s > give_up_at: raise failure
        time.sleep(pause_s)
        wait_s = min(2 * wait_s, 10)

def rows(column, where, *values):
    found = db.execute(f"SELECT {column} FROM posts WHERE problem IS NULL AND {where}", values)
    return [json.loads(text) for (text,) in found]

candidates_max = 1000  # Halved when a cycle is too large.

def write_cycle(due):
    """Stores what changed since the last cycle, the newest reading and snapshot of each pending post, and what was sent."""
    at = datetime.fromtimestamp(due, timezone(timedelta(hours=9)))
    entering = ("rowid IN (SELECT rowid FROM posts WHERE problem IS NULL AND sent_in IS NULL AND removal IS NULL "
                f"ORDER BY rowid LIMIT {candidates_max})")
    pending = (f"removal IS NULL AND (sent_in NOTNULL OR {entering}) AND julianday(%s) <= julianday(?) "
               "ORDER BY rowid DESC LIMIT 5000")
    cycle = {"cycle_id": at.strftime("%Y%m%dT%H%M"), "cycle_time": at.isoformat(), "candidates": rows("candidate", entering),
             "engagement": rows("reading", pending % "reading ->> 'observed_at'", at.isoformat()),
             "candidate_scores": rows("snapshot", pending % "snapshot ->> 'snapshot_at'", at.isoformat()),
             "removals": rows("removal", "removal NOTNULL AND sent_in NOTNULL AND removed_in IS NULL LIMIT 5000")}
    with db:  # One transaction.
        db.execute("INSERT INTO cycles (cycle_id, body) VALUES (?, ?)",
                   (cycle["cycle_id"], gzip.compress(json.dumps(cycle).encode())))
        for column, sent in (("sent_in", cycle["candidates"]), ("removed_in", cycle["removals"])):
            db.executemany(f"UPDATE posts SET {column} = ? WHERE gall_id = ? AND post_no = ?",
                           [(cycle["cycle_id"], row["gall_id"], row["post_no"]) for row in sent])

def take_back(cycle_id, body, error):
    """The rows that the service names are set aside; all others are in the next cycles."""
    global candidates_max
    cycle, fields = json.loads(gzip.decompress(body)), error["fields"] if error["status"] != 409 else []
    if error["status"] == 413:
        candidates_max = max(1, len(cycle["candidates"]) // 2)
        if len(cycle["candidates"]) == 1: fields = [{"path": "candidates[0]", "problem": error["message"]}]
    for field in fields:
        if match := re.match(r"(\w+)\[(\d+)\]", field["path"]):
            row = cycle[match[1]][int(match[2])]
            # A reading or snapshot is replaced by the next one. A post waits until somebody has looked at its problem.
            column = {"engagement": "reading", "candidate_scores": "snapshot"}.get(match[1])
            change = f"{column} = NULL WHERE ? <> ''" if column else "problem = ? WHERE TRUE"
            db.execute(f"UPDATE posts SET {change} AND gall_id = ? AND post_no = ?",
                       (f"{field['path']} {field['problem']}", row["gall_id"], row["post_no"]))
    db.execute("UPDATE posts SET sent_in = nullif(sent_in, ?1), removed_in = nullif(removed_in, ?1)", (cycle_id,))

def deliver():
    """Sends the stored cycles, oldest first, then the images. What cannot be sent now stays."""
    global candidates_max
    for cycle_id, body in db.execute("SELECT cycle_id, body FROM cycles WHERE body NOTNULL ORDER BY 1").fetchall():
        try:
            response, error = send("POST", "/v1/cycles", body, {"Content-Encoding": "gzip"})
        except requests.HTTPError as failure:
            print(cycle_id, failure, flush=True)
            continue
        with db:
            if error: take_back(cycle_id, body, error)
            else: candidates_max = min(1000, 2 * candidates_max)
            db.execute("UPDATE cycles SET body = NULL, response = ?, problem = ? WHERE cycle_id = ?",
                       (response and json.dumps(response), error and json.dumps(error), cycle_id))
    for *key, jpeg in db.execute("SELECT gall_id, post_no, position, jpeg FROM images WHERE sent IS NULL").fetchall():
        path = f"/v1/images/{quote(key[0], safe='')}/{key[1]}/{key[2]:02}"
        error = send("PUT", path, jpeg, {"Content-Type": "image/jpeg"})[1]
        with db:
            db.execute("UPDATE images SET sent = TRUE, problem = ? WHERE (gall_id, post_no, position) = (?, ?, ?)",
                       (error and json.dumps(error), *key))

due = 0
while True:
    due = max(due + 300, -(-time.time() // 300) * 300)
    time.sleep(max(0, due - time.time()))
    try:
        write_cycle(due)
        deliver()
    except (OSError, sqlite3.Error) as error:
        print(error, flush=True)
