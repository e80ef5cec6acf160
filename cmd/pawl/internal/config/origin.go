package config

import (
	"errors"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
)

// origin knows which settings come from the configuration file, and their places in it. The zero value knows of no
// file.
type origin struct {
	text *configText
	// keys has the key that was used for each setting with several possible keys, and "" where a flag has set it.
	keys map[string]string
}

// originOf says where the settings come from. Those that flags have set come from no file.
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

// place is the place of the setting in the file; empty if it does not come from there.
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

// Locate puts the place of the setting before the text of a failure that the setting has caused.
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

// Connectors is the refusal by which a connector has rejected its settings, with the place in the file.
func (o origin) Connectors(err error) error {
	refused := exit.Misconfigured("", "%v", err)
	var wrong *connector.SettingError
	if errors.As(err, &wrong) {
		return o.Locate(wrong.Key, refused)
	}
	return refused
}
