"""client.py: sends a cycle every five minutes, and stores each response. Queue and spool are one SQLite file."""
import gzip, json, os, random, re, sqlite3, time
from datetime import datetime, timedelta, timezone
from urllib.parse import quote
import requests

db = sqlite3.connect(os.environ.get("QUEUE_FILE", "queue.sqlite"))
# candidate, reading, removal: rows of the contract, as JSON. sent_in, removed_in: the cycles that have them.
db.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS posts (gall_id TEXT, post_no INTEGER, candidate, reading, removal, sent_in, removed_in, problem,
    PRIMARY KEY (gall_id, post_no));
  CREATE TABLE IF NOT EXISTS images (gall_id TEXT, post_no INTEGER, position INTEGER, jpeg, sent, problem,
    PRIMARY KEY (gall_id, post_no, position));
  CREATE TABLE IF NOT EXISTS cycles (cycle_id PRIMARY KEY, body, response, problem)""")

def send(method, path, body, headers):
    """Sends the same bytes until they are answered: (answer, None), or (None, error) if they are refused for good.
    Raises OSError after four minutes, and at once on 401 and on 500, which is an HTTPError."""
    give_up_at, wait_s = time.monotonic() + 240, 0.2
    while True:
        pause_s = random.uniform(0, wait_s)
        try:
            reply = requests.request(method, os.environ["SCORING_URL"] + path, data=body, timeout=60,
                                     headers={"Authorization": os.environ["SCORING_KEY"], **headers})
            status, answer = reply.status_code, reply.json()
            if status in (200, 201) and ("results" in answer or "key" in answer):
                return answer, None
            error = {"fields": [], "status": status, **answer["error"]}
            is_future = [field["problem"] for field in error["fields"]] == ["must not be in the future"]
            if status in (400, 404, 409, 413, 415, 422) and not is_future:  # Later it will be in the past.
                return None, error
            failure = (requests.HTTPError if status == 500 else OSError)(f"{method} {path}: {error}")
            pause_s = max(pause_s, float(reply.headers.get("Retry-After", 0)))
            give_up_at = 0 if status in (401, 500) else give_up_at
        except (requests.RequestException, ValueError, KeyError, TypeError) as error:
            failure = OSError(f"{method} {path}: {error}")  # No answer, or that of a proxy.
        if time.monotonic() + pause_s > give_up_at:
            raise failure
        time.sleep(pause_s)
        wait_s = min(2 * wait_s, 10)

def rows(column, where, *values):
    found = db.execute(f"SELECT {column} FROM posts WHERE problem IS NULL AND {where}", values)
    return [json.loads(text) for (text,) in found]

def write_cycle(due):
    """Stores what changed since the last cycle, one engagement row for each pending post, and that they were sent."""
    at = datetime.fromtimestamp(due, timezone(timedelta(hours=9)))
    cycle = {"cycle_id": at.strftime("%Y%m%dT%H%M"), "cycle_time": at.isoformat(), "candidate_scores": [],
             "candidates": rows("candidate", "sent_in IS NULL AND removal IS NULL LIMIT 1000"),
             "engagement": rows("reading", "removal IS NULL AND julianday(reading ->> 'observed_at') <= julianday(?) "
                                "ORDER BY rowid DESC LIMIT 5000", at.isoformat()),
             "removals": rows("removal", "removal NOTNULL AND sent_in NOTNULL AND removed_in IS NULL LIMIT 5000")}
    with db:  # One transaction.
        db.execute("INSERT INTO cycles (cycle_id, body) VALUES (?, ?)",
                   (cycle["cycle_id"], gzip.compress(json.dumps(cycle).encode())))
        for column, sent in (("sent_in", cycle["candidates"]), ("removed_in", cycle["removals"])):
            db.executemany(f"UPDATE posts SET {column} = ? WHERE gall_id = ? AND post_no = ?",
                           [(cycle["cycle_id"], row["gall_id"], row["post_no"]) for row in sent])

def take_back(cycle_id, body, error):
    """The rows that the service names are set aside; all others are in the next cycle."""
    for field in error["fields"] if error["status"] != 409 else []:
        if match := re.match(r"(\w+)\[(\d+)\]", field["path"]):
            row = json.loads(gzip.decompress(body))[match[1]][int(match[2])]
            # A reading is replaced by the next one. A post waits until somebody has looked at its problem.
            change = "reading = NULL WHERE ? <> ''" if match[1] == "engagement" else "problem = ? WHERE TRUE"
            db.execute(f"UPDATE posts SET {change} AND gall_id = ? AND post_no = ?",
                       (f"{field['path']} {field['problem']}", row["gall_id"], row["post_no"]))
    db.execute("UPDATE posts SET sent_in = nullif(sent_in, ?1), removed_in = nullif(removed_in, ?1)", (cycle_id,))

def deliver():
    """Sends the stored cycles, oldest first, then the images. What cannot be sent now stays."""
    for cycle_id, body in db.execute("SELECT cycle_id, body FROM cycles WHERE body NOTNULL ORDER BY 1").fetchall():
        try:
            response, error = send("POST", "/v1/cycles", body, {"Content-Encoding": "gzip"})
        except requests.HTTPError as failure:
            print(cycle_id, failure, flush=True)
            continue
        with db:
            if error: take_back(cycle_id, body, error)
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
