package config

import (
	"errors"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
)

// origin knows which settings come from the configuration file, and where in it they stand. The zero
// value knows of no file.
type origin struct {
	text *configText
	// keys are those under which a setting stands that has several, and "" where a flag has set it.
	keys map[string]string
}

// originOf says where the settings come from that flags have not set.
func originOf(file File, flags Engine) origin {
	o := origin{text: file.text, keys: map[string]string{}}
	for key, flag := range map[string]string{
		"http": flags.HTTP, "nats-listen": flags.NATS, "clock-start": flags.Start,
		"tls-cert": flags.TLSCert, "tls-key": flags.TLSKey, "public-url": flags.Public,
		"traces": flags.Traces,
	} {
		if flag != "" {
			o.keys[key] = ""
		}
	}
	if flags.Insecure != nil {
		o.keys["insecure"] = ""
	}
	if flags.Sample != nil {
		o.keys["traces-sample"] = ""
	}
	if flags.FeedSize != nil {
		o.keys["feed-bytes"] = ""
	}
	for _, folder := range []struct{ key, flag, short string }{
		{"maildir", flags.Maildir, file.Maildir}, {"files", flags.Files, file.Files}, {"csv", flags.CSV, file.CSV},
	} {
		switch {
		case folder.flag != "":
			o.keys["connectors."+folder.key+".root"] = ""
		case folder.short != "":
			o.keys["connectors."+folder.key+".root"] = folder.key
		}
	}
	return o
}

// place is where the setting stands in the file, empty if it does not come from there.
func (o origin) place(key string) string {
	if known, ok := o.keys[key]; ok {
		key = known
	}
	if o.text == nil || key == "" {
		return ""
	}
	at, _ := o.text.written(key)
	return at
}

// Locate puts the place of the setting before a failure that it is the cause of.
func (o origin) Locate(key string, err error) error {
	var f *exit.Failure
	at := o.place(key)
	if at == "" || !errors.As(err, &f) {
		return err
	}
	located := *f
	if located.What = at; f.What != "" {
		located.What += ": " + f.What
	}
	return &located
}

// Connectors is what a connector refuses of its settings, with the place.
func (o origin) Connectors(err error) error {
	refused := exit.Misconfigured("", "%v", err)
	var wrong *connector.SettingError
	if errors.As(err, &wrong) {
		return o.Locate(wrong.Key, refused)
	}
	return refused
}
