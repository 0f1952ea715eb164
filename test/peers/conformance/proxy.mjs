// Adds a bearer token to every request, for clients that cannot send one.
// usage: node proxy.mjs URL TOKEN PORTFILE    (URL is the server's, such as http://127.0.0.1:7420/mcp)
//
// It changes nothing else but the Host header, and that only where it names the proxy itself: a foreign Host must reach the server as it is.
import http from 'node:http';
import { renameSync, writeFileSync } from 'node:fs';

const [url, token, portFile] = process.argv.slice(2);
const target = new URL(url);

const proxy = http.createServer((req, res) => {
  const headers = { ...req.headers, authorization: `Bearer ${token}` };
  if (headers.host === `127.0.0.1:${proxy.address().port}` || headers.host === `localhost:${proxy.address().port}`) {
    headers.host = target.host;
  }
  const to = http.request({ host: target.hostname, port: target.port, method: req.method, path: req.url, headers, agent: false }, (from) => {
    res.writeHead(from.statusCode, from.headers);
    res.flushHeaders();
    from.pipe(res);
    from.on('error', () => res.destroy());
  });
  to.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
  res.on('close', () => to.destroy());
  req.pipe(to);
});
proxy.listen(0, '127.0.0.1', () => {
  writeFileSync(`${portFile}.new`, `${proxy.address().port}\n`);
  renameSync(`${portFile}.new`, portFile);
});
