// Writes what Node makes of addresses, one per line: node url.mjs > url.jsonl
const urls = ["http://example.com", "HTTP://EXAMPLE.com:80/", "https://example.com:443/a/../b/./c", "http://a b/", "http://[::1]:3000/x", "http://[1:2:0:0:5::]/", "http://[::ffff:1.2.3.4]/", "http://127.1/", "http://0x7f.0.0.1", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://exa%6Dple.com/", "http://faß.de/", "http://xn--fa-hia.de", "http://日本語.jp/パス?クエリ=値#断片",
  "http://user@host", "http://user:pass@host:8080/p", "http://:p@h/", "http://a@b@c/", "http://h?q", "http://h#f", "http://h/?#", "http://h/%zz%41", "http://h/a b\"<>`{}|^\\c", "http://h/?a b\"<>'`{}|^\\", "http://h/#a b\"<>`{}|^\\", "mailto:someone@example.com?subject=x y", "data:text/plain,hello world#f", "javascript:alert(1)", "file:///C:/x/../y", "file:///etc/passwd", "file://host/share", "file:c:\\foo\\bar", "ftp://f:21/x", "ws://h:80/c", "wss://h:443", "blob:https://a.com/uuid", "urn:isbn:123", "foo://bar baz", "foo://Bär/x", "foo:/a/b/../c", "foo:bar/../x", "a:b", "1a:b", "//x", "/x", "x", "", " ", "?q", "#h", "http:", "http:/", "http:///x", "http:\\\\h\\p", "  http://h/\t\n ", "h\nttp://x", "http://h:99999/", "http://h:/", "http://h:0/", "http://h:080/", "http://h:8a/", "https://%E4%BD%A0.com", "http://a_b.com", "http://-a-.com", "http://a..b/", "http://.../", "http://h/\ud800", "http://a%00b/", "http://a<b", "http://[::1", "http://[g::1]", "http://ex.com/./../..", "http://h/a/%2e%2E/b", "http://h//a//b", "https://h/?q=é&r=%C3%A9", "https://h/?q=%", "tel:+49 30 123", "about:blank", "http://①②③.com", "http://Ⅷ.com", "https://xn--", "https://xn--a", "http://a\u00adb.com/", "http://ab\u200dc.com", "https://host.name./", "non-special://[::1]:80/p", "http://h/p;a=b,c", "http://user:p%40ss@h/", "http://üser:pä@h/"];
const bases = [undefined, "http://base.org/a/b?q#f", "https://base.org:8443/dir/", "file:///base/f", "mailto:x@y"];
const changes = [["protocol", "https"], ["protocol", "foo:"], ["protocol", "1x"], ["username", "ü:@/"], ["password", "p w"], ["host", "new.org:81"], ["host", ""], ["host", "a b"], ["hostname", "other.net"], ["hostname", "x:99"], ["hostname", "[::1]"], ["port", "8080"], ["port", "80"], ["port", ""], ["port", "99999"], ["port", "12ab"], ["port", "x"], ["pathname", "/p q?#/é"], ["pathname", "rel/../x"], ["pathname", ""], ["search", "?a=b c"], ["search", "x#y'"], ["search", ""], ["search", "?"], ["hash", "#f g"], ["hash", ""], ["hash", "é`"]];
const targets = ["http://u:p@example.com:8080/a/b?q=1#h", "https://example.com/", "file:///x", "mailto:a@b", "foo://h/p", "data:x y"];
const members = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
const all = (u) => members.map((m) => u[m]);
for (const url of urls) for (const base of bases) {
  let result = null;
  try { result = all(new URL(url, base)); } catch { }
  console.log(JSON.stringify({ url, base, result }));
}
for (const url of targets) for (const change of changes) {
  const u = new URL(url);
  u[change[0]] = change[1];
  console.log(JSON.stringify({ url, change, result: all(u) }));
}
