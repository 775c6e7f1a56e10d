"""The main job in one minute on the best engine of this machine; everything is put back as it was found."""
