"""The version of the code, stored with every registration and look."""

VERSION = "0.1.0"
