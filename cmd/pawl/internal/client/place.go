package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// httpPlace is the address of an engine over HTTP, and the source of that address.
type httpPlace struct {
	address, from string
	url           *url.URL
	// named: a flag or a variable gave the address. configured: url in the configuration file gave it.
	named, configured bool
	// looked is the data directory in which an address was looked for. home is the same directory if the command is
	// about it: if it was named, is the one in this folder, or holds an address; else it is empty.
	looked, home string
	// data is home if the engine there has written this address down.
	data string
}

// findHTTP is the address over HTTP: the one that was given; else the one that the running engine of the data directory
// has written down; else the one at which an engine that is started here would listen: http of the environment or the
// configuration file, or the default.
func findHTTP(conf config.Reader, named bool, address string, file config.File) (httpPlace, error) {
	place := httpPlace{named: named, configured: !named && address != "", address: address, from: "as configured"}
	data := conf.DataDir(file.Data)
	written, err := datadir.HTTPAddress(data)
	if err != nil {
		return place, err
	}
	place.looked = data
	if written != "" || conf.Flags.Data != "" || file.Data != "" || data == config.DefaultData {
		place.home = data
	}
	switch {
	case place.configured:
		place.from = "url in " + term.Path(file.Path)
	case address != "":
	case written != "":
		place.address, place.from, place.data = written, "from "+term.Path(filepath.Join(data, datadir.URLFile)), data
	default:
		place.address, place.from = wouldListen(conf, file)
	}
	if place.address, err = engineURL(place.address, place.from); err != nil {
		if wrong, is := errors.AsType[*exit.Failure](err); is && place.data != "" {
			wrong.Hint = "delete that file: an engine writes its address there whenever it starts"
		}
		return place, err
	}
	if place.url, err = url.Parse(place.address); err != nil {
		return place, err // engineURL has parsed it
	}
	if written != "" && strings.TrimSuffix(place.address, "/") == strings.TrimSuffix(written, "/") {
		place.data = data
	}
	return place, nil
}

// wouldListen is the address at which an engine that is started here would answer, and the setting that says so.
func wouldListen(conf config.Reader, file config.File) (address, from string) {
	variable, _ := conf.Env("PAWL_HTTP")
	listen := config.Settings{HTTP: cmp.Or(variable, file.HTTP)}
	switch {
	case variable != "":
		from = "PAWL_HTTP"
	case file.HTTP != "":
		from = "http in " + term.Path(file.Path)
	default:
		return "http://" + cmp.Or(conf.HTTP, config.DefaultHTTP), "the default address"
	}
	scheme := "http"
	if certificate, _ := conf.Env("PAWL_TLS_CERT"); cmp.Or(certificate, file.TLSCert) != "" {
		scheme = "https"
	}
	return scheme + "://" + config.Reachable(listen.Address()), from
}

// open: the configured port is 0, and no engine has written down which port it took.
func (p httpPlace) open() bool { return p.data == "" && p.url.Port() == "0" }

// silence is the message for an address without an answer.
func (p httpPlace) silence() string {
	switch {
	case p.open():
		return fmt.Sprintf("no engine runs on the data directory %s: none has written an address down there, "+
			"and %s lets it take any port", term.Path(p.looked), p.from)
	case p.home == "", p.named, p.configured, p.data != "":
		return fmt.Sprintf("no engine answers at %s (%s)", p.address, p.from)
	}
	return fmt.Sprintf("no engine runs on the data directory %s, and none answers at %s (%s)", term.Path(p.home),
		p.address, p.from)
}

// recognizeTime bounds the time to find out which engine answers.
const recognizeTime = 10 * time.Second

// recognize returns an error if another engine or program answers at the address of the data directory's engine.
// It returns nil if that engine answers, if there is no answer, if it cannot be decided, and if a person chose the
// address (flag, variable, or url in the configuration file). The file with the address stays when an engine is killed,
// and another program may have the address now.
func (c *Connection) recognize(place httpPlace) error {
	if place.named || place.home == "" || place.configured && place.data == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Ctx, recognizeTime)
	defer cancel()
	found, err := c.Installation(ctx)
	var answered *rpc.Problem
	if err != nil && (!errors.As(err, &answered) || answered.Status >= 500 ||
		answered.Status == http.StatusTooManyRequests) {
		return nil // the command itself says what is wrong
	}
	if place.data != "" {
		mine, err := jslog.MarkedInstallation(filepath.Join(place.data, datadir.MarkFile))
		if err != nil || mine == found {
			return nil
		}
	}
	what := "another program answers"
	if found != "" {
		what = "another engine answers"
	}
	return place.stranger(what)
}

// stranger is the error if something else than the engine of the data directory answers at the address.
func (p httpPlace) stranger(what string) error {
	return &exit.Failure{
		Code: exit.CodeUnreachable,
		Err: fmt.Errorf("no engine runs on the data directory %s; %s at %s (%s), and was asked nothing",
			term.Path(p.home), what, p.address, p.from),
		Hint: "start yours: pawl up; or name the other if you mean it: --url " + p.address,
	}
}

// engineURL completes the address of an engine; without a scheme it is http. No error repeats a part that may be a
// password.
func engineURL(text, from string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	wrong := func(format string, args ...any) (string, error) {
		return "", exit.Misconfigured("write e.g. --url http://127.0.0.1:7070", "the engine's address, "+from+": "+format,
			args...)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("it is no URL")
	case u.Scheme == "nats" || u.Scheme == "tls":
		return "", exit.Misconfigured("write it as --nats URL",
			"the engine's address, %s: --url is for http or https, not for %s", from, u.Scheme)
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("commands reach an engine over http or https, not over %s", u.Scheme)
	case u.User != nil:
		return wrong("a user and a password say nothing to an engine; its token is taken from PAWL_TOKEN, " +
			"or from the engine's data directory")
	case u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return wrong("%q is not host and port", term.OneLine(text, 200))
	}
	if err := config.CheckPort(u.Port()); err != nil {
		return wrong("%v", err)
	}
	return text, nil
}
