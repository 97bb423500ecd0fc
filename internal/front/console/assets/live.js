"use strict";
// Adds to a page what changes while it is open. Without it, every page can be read.
(function () {
  function byId(id) { return document.getElementById(id); }

  // root is the address of the console.
  var root = document.querySelector("a.brand").getAttribute("href");

  // follow opens a stream, and opens it again after its last event when it breaks.
  function follow(address, cursor, handlers, say) {
    var wait = 1000, source;
    function open() {
      var mark = address.indexOf("?") < 0 ? "?" : "&";
      source = new EventSource(address + (cursor ? mark + "after=" + cursor + "&at=" + lastTime() : ""));
      source.onopen = function () { wait = 1000; say("live", "live"); };
      source.onerror = function () {
        say("waiting", "connection lost; trying again");
        if (source.readyState === EventSource.CLOSED) {
          setTimeout(open, wait);
          wait = Math.min(wait * 2, 30000);
        }
      };
      source.addEventListener("over", function () {
        source.close();
        say("waiting", "signed out; ");
        var a = document.createElement("a");
        a.href = root + "sign-in?next=" + encodeURIComponent(location.pathname + location.search);
        a.textContent = "sign in again";
        var place = byId("live");
        if (place) { place.append(a); }
      });
      Object.keys(handlers).forEach(function (name) {
        source.addEventListener(name, function (e) {
          if (e.lastEventId) { cursor = e.lastEventId; }
          handlers[name](e.data, source);
        });
      });
    }
    open();
    window.addEventListener("pagehide", function () { source.close(); });
    window.addEventListener("pageshow", function (e) { if (e.persisted) { location.reload(); } });
  }

  function lastTime() {
    var all = document.querySelectorAll("#timeline > .entry[data-version]");
    return all.length ? all[all.length - 1].dataset.time : "";
  }

  // showSounds shows the buttons that need this script.
  function showSounds(piece) {
    piece.querySelectorAll("button.play").forEach(function (b) { b.hidden = false; });
  }

  function element(html) {
    var t = document.createElement("template");
    t.innerHTML = html;
    showSounds(t.content);
    return t.content.firstElementChild;
  }

  // replace puts a new piece in the place of an old one, unless a person writes in it.
  function replace(id, html) {
    var old = byId(id), piece = element(html);
    if (!old || !piece || old.querySelector("details.action[open]")) { return; }
    var field = old.querySelector("textarea");
    if (field && field.value && piece.querySelector("textarea")) { return; }
    old.replaceWith(piece);
  }

  // add appends an entry, or a chunk to the artifact before it.
  function add(list, html) {
    var item = element(html), last = list.lastElementChild;
    if (!item || list.querySelector('[data-version="' + item.dataset.version + '"]')) { return; }
    var atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;
    if (last && item.dataset.append === "true" && item.dataset.key && last.dataset.key === item.dataset.key) {
      join(last, item);
    } else {
      item.classList.add("new");
      list.append(item);
    }
    settle(list);
    if (atEnd) { window.scrollTo(0, document.documentElement.scrollHeight); }
  }

  // settle shows artifacts whose chunks have all arrived in their final form.
  function settle(list, all) {
    list.querySelectorAll("[data-source]").forEach(function (item) {
      if (!all && item === list.lastElementChild) { return; }
      var address = item.dataset.source + "&to=" + item.dataset.version + new URLSearchParams(location.search).getAll("as").map(function (as) { return "&as=" + encodeURIComponent(as); }).join("");
      delete item.dataset.source;
      fetch(address).then(function (r) { return r.ok ? r.text() : ""; }).then(function (html) {
        var piece = element(html), parts = piece && piece.querySelector(".parts");
        if (parts) { item.querySelector(".parts").replaceWith(parts); }
      }, function () {}); // the text stays
    });
  }

  function join(last, item) {
    var into = last.querySelector(".parts");
    Array.prototype.slice.call(item.querySelector(".parts").children).forEach(function (part) {
      var before = into.lastElementChild;
      if (before && /^text/.test(before.className) && /^text/.test(part.className)) {
        before.append(part.textContent);
        before.normalize();
      } else {
        into.append(part);
      }
    });
    last.dataset.version = item.dataset.version;
    last.dataset.time = item.dataset.time;
    var chunks = last.querySelector(".chunks"), n = chunks.querySelector("b");
    n.textContent = String(Number(n.textContent) + 1);
    n.nextSibling.textContent = " chunks, last " + item.querySelector("time").textContent;
    chunks.hidden = false;
  }

  // The time without output goes on while the page is open, and begins again with each entry.
  function silence(again) {
    document.querySelectorAll("[data-silent]").forEach(function (e) {
      if (again || !e.since) { e.since = performance.now() - (again ? 0 : Number(e.dataset.silent)); }
      var s = Math.floor((performance.now() - e.since) / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
      e.hidden = s < 5;
      e.textContent = "no output for " + (h ? h + " h " + m % 60 + " min" : m ? m + " min " + s % 60 + " s" : s + " s");
    });
  }
  if (document.querySelector("[data-silent]")) { silence(); setInterval(silence, 1000); }

  var timeline = byId("timeline");
  if (timeline && timeline.dataset.live && window.EventSource) {
    var state = byId("live"), over = false;
    var say = function (tone, text) {
      if (!over) { state.className = "live " + tone; state.textContent = text; }
    };
    follow(timeline.dataset.live, timeline.dataset.cursor || "0", {
      entry: function (html) { add(timeline, html); silence(true); },
      head: function (html) {
        replace("head", html);
        var state = document.querySelector("#head .badge");
        if (state) { document.title = document.title.replace(/^(\(\d+\) )?.*? · /, "$1" + state.textContent + " · "); }
      },
      operate: function (html) { replace("operate", html); },
      notice: function (html) {
        var n = element(html);
        if (!n || timeline.querySelector('[data-notice="' + n.dataset.notice + '"]')) { return; }
        n.classList.add("new");
        timeline.append(n);
      },
      tree: function (html) { replace("tree", html); },
      end: function (html, source) { settle(timeline, true); say("", ""); over = true; source.close(); }
    }, say);
  }

  // numbers returns the counts of the tasks in the list. The list is stale if they have changed.
  function numbers(state) {
    return Array.prototype.slice.call(document.querySelectorAll("#counts [data-state]")).filter(function (a) {
      return !state || a.dataset.state === state;
    }).map(function (a) { return a.dataset.n; }).join();
  }

  var counts = document.querySelector("[data-counts]"), before = numbers(byId("news") ? byId("news").dataset.state : "");
  if (counts && window.EventSource) {
    follow(counts.dataset.counts, "", {
      counts: function (html) {
        replace("counts", html);
        var n = byId("news");
        if (n) { n.hidden = numbers(n.dataset.state) === before; }
      },
      attention: function (html) { replace("attention", html); }
    }, function () {});
  }

  document.querySelectorAll("details.copy pre").forEach(function (pre) {
    if (!navigator.clipboard) { return; }
    var b = document.createElement("button");
    b.type = "button"; b.className = "quiet small"; b.textContent = "Copy";
    b.addEventListener("click", function () {
      navigator.clipboard.writeText(pre.textContent).then(function () { b.textContent = "Copied"; }, function () { b.textContent = "Select the text to copy it"; });
    });
    pre.after(b);
  });

  // A button plays the sound before it. The controls of a browser would load icons.
  showSounds(document);
  document.addEventListener("click", function (e) {
    var b = e.target, sound = b.matches && b.matches("button.play") && b.previousElementSibling;
    if (!sound) { return; }
    sound.onended = sound.onpause = function () { if (!sound.error) { b.textContent = "Play"; } };
    if (!sound.paused) { sound.pause(); return; }
    sound.play().then(function () { b.textContent = "Pause"; }, function () {
      if (sound.error) { b.textContent = "The browser cannot play this file"; }
    });
  });

  // The form of an action is a dialog. It stays in its place, which is open as long as the dialog is.
  function ask(details) {
    if (details.querySelector("dialog")) { return; } // the event that takes a closed one away is still to come
    var form = details.querySelector("form"), dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", form.querySelector("h2").textContent);
    details.append(dialog);
    dialog.append(form);
    details.open = true;
    form.querySelector(".close").hidden = false;
    dialog.addEventListener("close", function () {
      release(form);
      details.append(form);
      dialog.remove();
      details.open = false;
      details.querySelector("summary").focus();
    });
    dialog.showModal();
    var field = form.querySelector("input:not([type=hidden])");
    (field || form.querySelector(".close")).focus();
  }
  document.addEventListener("click", function (e) {
    var summary = e.target.closest && e.target.closest("details.action > summary");
    if (summary) { e.preventDefault(); ask(summary.parentElement); }
    if (e.target.matches && e.target.matches("dialog .close")) { e.target.closest("dialog").close(); }
    if (e.target.tagName === "DIALOG") { e.target.close(); } // beside the form
  });
  document.querySelectorAll("details.action[open]").forEach(ask);

  // A form with data-hold is sent after so many seconds. Until then, its dialog takes it back.
  function release(form) {
    if (!form.dataset.held) { return; }
    clearInterval(Number(form.dataset.held));
    delete form.dataset.held;
    var send = form.querySelector("button"), back = form.querySelector(".close");
    send.disabled = false; send.textContent = form.dataset.label; back.textContent = "Back";
  }
  document.addEventListener("submit", function (e) {
    var form = e.target, left = Number(form.dataset.hold);
    if (!left || form.dataset.sent) { return; }
    e.preventDefault();
    if (form.dataset.held) { return; }
    var send = form.querySelector("button"), back = form.querySelector(".close");
    form.dataset.label = send.textContent;
    var say = function () { send.textContent = form.dataset.label + " in " + left + " s"; };
    send.disabled = true; back.textContent = "Undo"; back.focus(); say();
    form.dataset.held = String(setInterval(function () {
      if (--left > 0) { say(); return; }
      release(form);
      form.dataset.sent = "1";
      form.requestSubmit();
    }, 1000));
  });

  var agent = byId("agent");
  if (agent) { agent.addEventListener("change", function () { agent.form.submit(); }); agent.form.querySelector("button").hidden = true; }

  // The button for the chosen rows counts them.
  var pick = byId("stop") && byId("stop").querySelector('[value="chosen"]');
  if (pick) {
    var choose = function () {
      var n = document.querySelectorAll('input[form="stop"]:checked').length;
      pick.disabled = !n;
      pick.textContent = n ? "Stop " + n + " chosen…" : "Stop the chosen…";
    };
    document.addEventListener("change", choose);
    choose();
  }

  // A form whose answer takes long says so. Its link ends the request, as it opens another page.
  document.querySelectorAll("form[data-busy]").forEach(function (form) {
    form.addEventListener("submit", function () {
      byId("busy").textContent = form.dataset.busy;
      form.querySelector("button").disabled = true;
      form.querySelector(".stop").hidden = false;
    });
  });

  // step moves to the next or the previous line of a list.
  function step(by) {
    var all = Array.prototype.slice.call(document.querySelectorAll("main table a.line, main .timeline a.raw, main .item h2 a, main .cards h2 a"));
    var rows = document.querySelectorAll("main tbody tr").length ? all.filter(function (a) { return a.closest("tr"); }) : all;
    var at = rows.indexOf(document.activeElement) + by;
    if (at < 0 && by < 0) { at = rows.length - 1; }
    if (rows[at]) { rows[at].focus(); rows[at].scrollIntoView({ block: "nearest" }); }
  }

  byId("help").hidden = false;
  byId("help").querySelector("button").addEventListener("click", function () { byId("keys").showModal(); });

  var going = false;
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.form) { e.target.form.requestSubmit(); }
      return;
    }
    if (document.querySelector("dialog[open]")) { return; }
    if (e.key === "?") { byId("keys").showModal(); }
    if (e.key === "j" || e.key === "k") { step(e.key === "j" ? 1 : -1); }
    if (e.key === "/") {
      var field = document.querySelector("main input:not([type=hidden]), main textarea");
      if (field) { e.preventDefault(); field.focus(); }
    }
    var page = going && { o: "", t: "tasks", y: "try", a: "agents", i: "inbox", e: "calls", m: "costs", w: "webhooks", d: "dead", q: "queues", k: "keys", p: "policy", l: "audit", c: "conformance" }[e.key];
    if (typeof page === "string") { location.href = root + page; }
    going = e.key === "g";
  });
})();
