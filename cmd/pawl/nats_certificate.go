package main

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
)

// natsCertificate, beside the URL files, is the certificate of the listener. Commands on this machine reach
// it by an address that the certificate does not name, so they ask for this very one.
const natsCertificate = "listener.pem"

// writeNATSCertificate writes down which certificate the listener has, if it has one.
func (in *installation) writeNATSCertificate() error {
	path := filepath.Join(in.natsDir(), natsCertificate)
	certificate, err := in.settings.tls()
	if err != nil {
		return err
	}
	if certificate == nil || !in.natsTLS {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	leaf := certificate.Certificates[0].Certificate[0]
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))
}

// pinned are the options to reach the listener whose files lie in the directory: over TLS its certificate
// must be the one that it wrote down.
func pinned(dir string) ([]nats.Option, error) {
	text, err := os.ReadFile(filepath.Join(dir, natsCertificate))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is no certificate", natsCertificate)
	}
	return []nats.Option{nats.Secure(&tls.Config{
		MinVersion: tls.VersionTLS12,
		// The check of names and issuers is replaced by a stricter one.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("the listener has another certificate than the engine wrote down")
			}
			return nil
		},
	})}, nil
}
